"""A clock that is wrong is noticed, told, and what it has left undone is done when it is set."""

from email.utils import formatdate

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import Account
from indexer.network.clock import MOST_HOSTS, ClockOffset
from indexer.network.http.client import Outbound
from indexer.network.identity.dns import Dns
from indexer.sync.account_status import AccountStatuses
from readapi.index.indexer_client import IndexerReport, IndexerStatus, _Heard
from readapi.index.queries import readiness
from tests.indexer.changes import account, did, put, write
from tests.network.doubles import Pages

DAY = 86_400.0


class Clocks:
    """Ours, and the steady one that nobody sets."""

    def __init__(self) -> None:
        self.ours = 1_770_000_000.0
        self.steady = 50.0

    def offset(self) -> ClockOffset:
        return ClockOffset(lambda: self.ours, lambda: self.steady)


def said(clocks: Clocks, ahead: float) -> str:
    """The `Date` of a host whose clock is that far ahead of ours."""
    return formatdate(clocks.ours + ahead, usegmt=True)


def test_the_median_of_several_hosts_is_believed() -> None:
    """Two are too few; a liar does not move what the others say, however many names it has."""
    clocks = Clocks()
    offset = clocks.offset()
    offset.heard("pds.example.com", said(clocks, DAY))
    offset.heard("plc.example.net", said(clocks, DAY))
    few = offset.seconds
    offset.heard("relay.example.org", said(clocks, DAY))
    for number in range(1000):
        offset.heard(f"host{number}.liar.example", said(clocks, -9 * DAY))

    assert (few, offset.seconds) == (None, DAY)


def test_words_grow_old_and_nonsense_is_none() -> None:
    """What hosts said hours ago, or cannot mean, does not count; memory is bounded."""
    clocks = Clocks()
    offset = clocks.offset()
    for number in range(3 * MOST_HOSTS):
        offset.heard(f"host{number}.example{number}", said(clocks, 0.0))
    for date in ("", "yesterday", "Thu, 99 Foo 0000 99:99:99 GMT", "x" * 100_000, None):
        offset.heard("nonsense.example", date)
    believed = offset.seconds
    clocks.steady += 2 * 3600

    assert (believed, len(offset._said), offset.seconds) == (0.0, MOST_HOSTS, None)


async def test_every_answer_tells_a_time() -> None:
    """It is heard where answers come in."""
    heard: list[tuple[str | None, str | None]] = []
    async with Pages() as host, Outbound(Dns(), allow_loopback=True) as outbound:
        host.answers["/x"] = (200, b"1")
        outbound.heard = lambda name, date: heard.append((name, date))
        await outbound.fetch(f"{host.url}/x", 100, 5.0)

    assert [(name, bool(date)) for name, date in heard] == [("localhost", True)]


def test_a_wrong_clock_is_warned_of() -> None:
    """/ready says by how much and which way, without calling the service unready."""
    status = IndexerStatus.__new__(IndexerStatus)
    status.reachable = True
    status._heard = _Heard(IndexerReport(clock_offset_seconds=DAY), 0.0)
    behind = readiness._warnings(status)
    status._heard = _Heard(IndexerReport(clock_offset_seconds=-5.0), 0.0)

    assert behind == ["The indexer's clock is 86400 s behind those of other hosts; set it right."]
    assert readiness._warnings(status) == []


async def test_when_our_clock_is_set_hidden_accounts_are_asked_about_at_once() -> None:
    """Not at their hour of the day; and not while it goes on as clocks do."""
    clocks, heard, someone = Clocks(), list[Account](), did("gone")
    async with Pages() as relay, Outbound(Dns(), allow_loopback=True) as outbound:
        address = f"/xrpc/com.atproto.sync.getRepoStatus?did={someone}"
        relay.answers[address] = (200, b'{"active": false, "status": "deleted"}')
        statuses = AccountStatuses(
            outbound,
            relay.url,
            hidden=lambda: [someone],
            heard=heard.append,
            clock=lambda: clocks.ours,
            steady=lambda: clocks.steady,
        )
        clocks.ours, clocks.steady = clocks.ours + 1, clocks.steady + 1
        await statuses.look()
        before = len(heard)
        clocks.ours, clocks.steady = clocks.ours + 3 * 3600, clocks.steady + 60
        await statuses.look()

    assert before == 0
    assert [account.status for account in heard] == ["deleted"]


def test_a_deletion_told_again_by_the_right_clock_takes_the_records_along(writer: Writer) -> None:
    """Dated a day too early it left those written since; nothing has to be started again."""
    write(writer, put("gone", "track", at=1000))
    for at in (10, 2000):
        told = account("gone", "deleted", at=at)
        left = writer.write(Batch(accounts=[told], refusals={did("gone"): "deleted"}))
        with writer.reader() as con:
            rows = con.execute("select count(*) from tracks").fetchall()
        assert left.removed == (did("gone"),)
        assert rows == ([(1,)] if at == 10 else [(0,)])
