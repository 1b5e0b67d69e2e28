"""The settings choose the source; a new one goes on about where another ended."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.network.websockets import WebSocketClient
from indexer.stream import select
from indexer.stream.firehose import Firehose
from indexer.stream.jetstream import Jetstream
from indexer.sync.first_cursor import choose_cursor
from tests.indexer.changes import settings

JETSTREAM = "wss://jetstream.example"
AT = datetime(2025, 3, 1, 12, tzinfo=UTC)
MICROS = 1_740_830_400_000_000
TEN_MINUTES = 600_000_000


async def test_a_jetstream_takes_the_relays_place(tmp_path: Path) -> None:
    """Only where one is set."""
    plain, other = settings(tmp_path), settings(tmp_path, jetstream=JETSTREAM, jetstream_version="2")

    assert isinstance(select.choose_source(plain, plain.collections.all), Firehose)
    assert select.choose_source(other, other.collections.all).name.startswith(f"{JETSTREAM}/xrpc/")


async def test_each_source_goes_on_at_its_own_cursor(writer: Writer) -> None:
    """A relay that was never followed begins where a new install does: its numbers know no time."""
    relay = Firehose("wss://relay.example", WebSocketClient())
    writer.write(Batch(cursors={relay.name: StreamCursor(7, AT)}))

    assert choose_cursor(relay, writer) == 7
    assert choose_cursor(Firehose("wss://other.example", WebSocketClient()), writer) is None


async def test_a_jetstream_goes_on_at_the_time_where_another_source_ended(
    writer: Writer,
) -> None:
    """Ten minutes before it: the clocks of servers differ. A clock that is fast is not believed."""
    jetstream = Jetstream(JETSTREAM, WebSocketClient(), frozenset())
    nowhere = choose_cursor(jetstream, writer)
    writer.write(Batch(cursors={"wss://relay.example": StreamCursor(7, AT)}))
    after_a_relay = choose_cursor(jetstream, writer)
    writer.write(Batch(cursors={"wss://fast.example": StreamCursor(7, AT + timedelta(days=36500))}))
    latest = datetime.now(UTC) - timedelta(minutes=10)

    assert nowhere is None
    assert after_a_relay == MICROS - TEN_MINUTES
    assert (choose_cursor(jetstream, writer) or 0) <= (jetstream.cursor_at(latest) or 0) + 5_000_000
