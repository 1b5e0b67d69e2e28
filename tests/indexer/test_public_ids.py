"""Public ids differ whatever the hashes do, and do not depend on the order of arrival."""

import itertools
from pathlib import Path

import pytest

from indexer.batch import RecordChange
from indexer.rows import Hashing
from indexer.writer import Writer
from schemas.ids import record_id
from tests.indexer.changes import put, settings, uri, write

NARROW = Hashing(id=lambda name, attempt: record_id(name, attempt) >> 51)  # four different ids
TRACKS = [put(person, "track", number, at=number + 1) for number, person in enumerate(("ana", "ben", "ana"))]


def ids(writer: Writer) -> dict[str, int]:
    """The public id of each track."""
    return dict(writer.reader().execute("select uri, id from tracks").fetchall())


@pytest.mark.parametrize("order", list(itertools.permutations(TRACKS)))
def test_colliding_ids_are_told_apart_the_same_way_in_any_order(
    tmp_path: Path, order: tuple[RecordChange, ...]
) -> None:
    """Three records on four ids meet; the older record keeps its own."""
    writer = Writer.open(settings(tmp_path), Hashing(id=lambda name, attempt: attempt))

    for change in order:
        write(writer, change)

    assert ids(writer) == {str(change.uri): number for number, change in enumerate(TRACKS)}
    writer.close()


def test_a_full_house_of_narrow_hashes_gives_everybody_one(tmp_path: Path) -> None:
    """Four records on four ids, in one batch and after a restart."""
    writer = Writer.open(settings(tmp_path), NARROW)
    write(writer, *(put("ana", "track", number, at=1) for number in range(3)))
    writer.close()

    writer = Writer.open(settings(tmp_path), NARROW)
    write(writer, put("ana", "track", 3, at=2))

    assert sorted(ids(writer).values()) == [0, 1, 2, 3]
    writer.close()


def test_an_id_stays_through_updates_and_deletes(writer: Writer) -> None:
    """It is derived from the at-uri alone."""
    write(writer, put("ana", "track", at=1))
    write(writer, put("ana", "track", at=2, title="Other"))

    assert ids(writer) == {str(uri("ana", "track")): record_id(str(uri("ana", "track")))}


def test_a_record_that_makes_room_has_its_documents_made_again(tmp_path: Path) -> None:
    """An older record that comes later takes the id; the other one's card changes."""
    writer = Writer.open(settings(tmp_path), Hashing(id=lambda name, attempt: attempt))
    younger, older = put("ana", "track", 5, at=6), put("ana", "track", 1, at=2)
    write(writer, younger)
    before = writer.op

    write(writer, older)

    stale = writer.reader().execute("select count(*) from outbox where op > ? and kind = 'track'", [before])
    assert ids(writer) == {str(older.uri): 0, str(younger.uri): 1}
    assert stale.fetchall() == [(2,)]
    writer.close()
