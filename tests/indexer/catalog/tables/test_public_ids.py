"""Public ids differ, are nobody's where two records ask for one, and do not depend on who arrives first."""

import dataclasses
import itertools
from pathlib import Path

import prometheus_client
import pytest

from indexer.catalog.tables.records import Hashing
from indexer.catalog.writing.writer import Writer
from indexer.repo.changes import RecordChange
from schemas.ids import record_id
from tests.collision import SHARED_ID, meeting, put_meeting
from tests.indexer.changes import account, comment, delete, did, put, settings, uri, write

# Everything meets at the first attempt, half of it at the second, and so on.
NARROW = Hashing(id=lambda name, attempt: record_id(name, attempt) >> (53 - attempt))
TRACKS = [put(person, "track", number, at=number + 1) for number, person in enumerate(("ana", "ben", "ana"))]


def ids(writer: Writer, table: str = "tracks") -> dict[str, int]:
    """The public id of each track."""
    return dict(writer.reader().execute(f"select uri, id from {table}").fetchall())


def contested() -> float:
    """How many contested numbers of tracks were counted."""
    told = prometheus_client.REGISTRY.get_sample_value("fmsvc_ids_contested_total", {"table": "tracks"})
    return told or 0.0


@pytest.mark.parametrize("order", [("mara", "ben"), ("ben", "mara")])
def test_a_number_that_two_accounts_ask_for_belongs_to_neither(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    """A true collision: whoever comes first, both go on to their next number, and it is counted."""
    writer = Writer.open(settings(tmp_path))
    before = contested()

    for person in order:
        write(writer, put_meeting(person, at=1))

    assert record_id(str(meeting("mara"))) == record_id(str(meeting("ben"))) == SHARED_ID
    assert ids(writer) == {str(meeting(person)): record_id(str(meeting(person)), 1) for person in order}
    assert contested() == before + 1
    writer.close()


def test_a_contested_number_never_comes_free(tmp_path: Path) -> None:
    """Not when one of the records is deleted, when its account is, nor at the next start."""
    theirs = record_id(str(meeting("mara")), 1)
    writer = Writer.open(settings(tmp_path))
    write(writer, put_meeting("mara", at=1), put_meeting("ben", at=1))
    gone = dataclasses.replace(delete("ben", "track", at=2), rkey=meeting("ben").rkey)
    for change in (gone, account("ben", "deleted", at=3)):
        write(writer, change)
        writer.close()
        writer = Writer.open(settings(tmp_path))
        write(writer, put_meeting("mara", at=4, title="Again"))

        assert ids(writer)[str(meeting("mara"))] == theirs
    write(writer, put_meeting("ben", at=5))

    assert SHARED_ID not in ids(writer).values()
    assert ids(writer)[str(meeting("mara"))] == theirs
    writer.close()


@pytest.mark.parametrize("order", list(itertools.permutations(TRACKS)))
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.slow
def test_ids_do_not_depend_on_the_order(
    tmp_path: Path, order: tuple[RecordChange, ...], restart: bool
) -> None:
    """Three records, two of one account, that meet again and again; one at a time or all together."""
    writer = Writer.open(settings(tmp_path / "one"), NARROW)
    for change in order:
        write(writer, change)
        if restart:
            writer.close()
            writer = Writer.open(settings(tmp_path / "one"), NARROW)
    together = Writer.open(settings(tmp_path / "all"), NARROW)
    write(together, *TRACKS)

    assert ids(writer) == ids(together)
    assert len(set(ids(writer).values())) == 3
    assert 0 not in ids(writer).values(), "all three asked for it first"
    writer.close()
    together.close()


def test_a_number_that_an_earlier_version_let_one_record_keep_is_contested(tmp_path: Path) -> None:
    """It moves when the next record comes."""
    writer = Writer.open(settings(tmp_path))
    write(writer, put_meeting("mara", at=1), put_meeting("ben", at=1))
    writer.close()
    writer = Writer.open(settings(tmp_path))
    writer._catalogue.con.execute(f"update tracks set id = {SHARED_ID} where did = '{did('mara')}'")
    writer.close()

    writer = Writer.open(settings(tmp_path))
    write(writer, put("ana", "track", at=2))

    assert ids(writer)[str(meeting("mara"))] == record_id(str(meeting("mara")), 1)
    writer.close()


def test_comments_are_told_apart_alike(tmp_path: Path) -> None:
    writer = Writer.open(settings(tmp_path), Hashing(id=lambda name, attempt: attempt and record_id(name)))
    said = [comment(person, uri("ana", "track"), at=1) for person in ("ana", "ben")]

    for change in said:
        write(writer, change)

    assert ids(writer, "comments") == {str(one.uri): record_id(str(one.uri)) for one in said}
    writer.close()


def test_an_id_stays_through_updates_and_deletes(writer: Writer) -> None:
    """It is derived from the at-uri alone."""
    write(writer, put("ana", "track", at=1))
    write(writer, put("ana", "track", at=2, title="Other"))

    assert ids(writer) == {str(uri("ana", "track")): record_id(str(uri("ana", "track")))}


def test_a_record_that_moves_has_its_documents_made_again(tmp_path: Path) -> None:
    """The card of the one that was there says its new id."""
    writer = Writer.open(settings(tmp_path))
    write(writer, put_meeting("mara", at=1))
    before = writer.op

    write(writer, put_meeting("ben", at=1))

    stale = writer.reader().execute("select count(*) from outbox where op > ? and kind = 'track'", [before])
    assert stale.fetchall() == [(2,)]
    writer.close()
