"""What the relay says of hidden accounts, and as of when."""

from datetime import UTC, datetime, timedelta

from indexer.events import Account
from indexer.network.http.client import Outbound
from indexer.network.identity.dns import Dns
from indexer.sync.account_status import AccountStatuses
from schemas.ids import Did
from tests.network.doubles import ALICE, Pages

BOB = Did("did:plc:bbbbbbbbbbbbbbbbbbbbbbbb")
ADDRESS = f"/xrpc/com.atproto.sync.getRepoStatus?did={ALICE}"


async def _heard(answer: bytes, delay_seconds: float = 0.0) -> list[Account]:
    """What comes of asking about one hidden account."""
    heard: list[Account] = []
    async with Pages() as relay, Outbound(Dns(), allow_loopback=True) as outbound:
        relay.answers[ADDRESS], relay.delay_seconds = (200, answer), delay_seconds
        await AccountStatuses(outbound, relay.url, hidden=lambda: [ALICE], heard=heard.append).check_all()
    return heard


async def test_an_answer_counts_as_of_its_question() -> None:
    """An event that overtakes it is newer, and has to win."""
    [account] = await _heard(b'{"active": false, "status": "deactivated"}', delay_seconds=0.05)

    assert (account.did, account.status) == (ALICE, "deactivated")
    assert datetime.now(UTC) - account.time >= timedelta(seconds=0.05)


async def test_who_is_back_is_active_whatever_else_is_said() -> None:
    [account] = await _heard(b'{"active": true, "status": "deactivated"}')

    assert account.status == "active"


async def test_an_answer_that_breaks_the_check_costs_that_account_alone() -> None:
    """Whatever no code foresaw: the next one is asked about all the same, and the process goes on."""
    heard: list[str] = []

    def hear(account: Account) -> None:
        if account.did == ALICE:
            raise ValueError("nobody thought of this")
        heard.append(account.did)

    async with Pages() as relay, Outbound(Dns(), allow_loopback=True) as outbound:
        for did in (ALICE, BOB):
            address = f"/xrpc/com.atproto.sync.getRepoStatus?did={did}"
            relay.answers[address] = 200, b'{"active": true}'
        await AccountStatuses(outbound, relay.url, hidden=lambda: [ALICE, BOB], heard=hear).check_all()

    assert heard == [BOB]


async def test_an_answer_without_a_status_says_nothing() -> None:
    assert await _heard(b'{"active": false}') == []
