"""Dead letters are kept as they came, once each, within a limit."""

from datetime import datetime
from pathlib import Path

from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from tests.indexer.changes import did, instant, settings


def letter(number: int, raw: bytes = b"frame", received_at: datetime | None = None) -> DeadLetter:
    """The nth frame of a relay, which cannot be used."""
    return DeadLetter(
        received_at or instant(number), "wss://relay.example", number, did("ana"), "truncated", raw
    )


def kept(writer: Writer) -> list[int]:
    """Numbers of those that are kept, the oldest first."""
    rows = writer.reader().execute("select seq from dead_letters order by received_at").fetchall()
    return [seq for (seq,) in rows]


def test_a_letter_is_kept_with_its_bytes_and_its_reason(writer: Writer) -> None:
    """Everything that is needed to look into it later."""
    written = writer.write(Batch(dead_letters=[letter(7, b"\x00\xff")]))

    assert (written.dead_letters, writer.dead_letters) == (1, 1)
    assert writer.reader().execute("select source, seq, did, reason, raw from dead_letters").fetchall() == [
        ("wss://relay.example", 7, did("ana"), "truncated", b"\x00\xff")
    ]


def test_a_repeated_frame_is_kept_once(writer: Writer) -> None:
    """Within a batch and after a reconnect; another fault of the same frame is another letter."""
    writer.write(Batch(dead_letters=[letter(7), letter(7, received_at=instant(9))]))

    written = writer.write(Batch(dead_letters=[letter(7), letter(7, b"second record")]))

    assert written.dead_letters == 1
    assert kept(writer) == [7, 7]


def test_the_oldest_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    """Also after a restart; a letter above the limit is not kept at all."""
    limited = settings(tmp_path, dead_letter_bytes=250)
    with Writer.open(limited) as writer:
        writer.write(Batch(dead_letters=[letter(number, bytes(100)) for number in (1, 2, 3)]))
        within = kept(writer)
    with Writer.open(limited) as writer:
        writer.write(Batch(dead_letters=[letter(4, bytes(100))]))
        later = kept(writer)
        writer.write(Batch(dead_letters=[letter(5, bytes(300))]))

        assert (within, later, kept(writer)) == ([2, 3], [3, 4], [])
        assert writer.dead_letters == 0
