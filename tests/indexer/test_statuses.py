"""What the relay says of hidden accounts, and as of when."""

from datetime import UTC, datetime, timedelta

from indexer.events import Account
from indexer.names import Dns
from indexer.outbound import Outbound
from indexer.statuses import Statuses
from tests.network.doubles import ALICE, Pages

ADDRESS = f"/xrpc/com.atproto.sync.getRepoStatus?did={ALICE}"


async def _heard(answer: bytes, delay_seconds: float = 0.0) -> list[Account]:
    """What comes of asking about one hidden account."""
    heard: list[Account] = []
    async with Pages() as relay, Outbound(Dns(), allow_loopback=True) as outbound:
        relay.answers[ADDRESS], relay.delay_seconds = (200, answer), delay_seconds
        await Statuses(outbound, relay.url, hidden=lambda: [ALICE], heard=heard.append).check_all()
    return heard


async def test_an_answer_counts_as_of_its_question() -> None:
    """An event that overtakes it is newer, and has to win."""
    [account] = await _heard(b'{"active": false, "status": "deactivated"}', delay_seconds=0.05)

    assert (account.did, account.status) == (ALICE, "deactivated")
    assert datetime.now(UTC) - account.time >= timedelta(seconds=0.05)


async def test_who_is_back_is_active_whatever_else_is_said() -> None:
    [account] = await _heard(b'{"active": true, "status": "deactivated"}')

    assert account.status == "active"


async def test_an_answer_without_a_status_says_nothing() -> None:
    assert await _heard(b'{"active": false}') == []
