"""A batch is stored whole, and the order of what it holds is the transaction's: not the order of arrival."""

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from tests import documents
from tests.indexer.changes import (
    account,
    album,
    comment,
    contents,
    did,
    like,
    put,
    uri,
    write,
)

TRACK = uri("ana", "track")


def rows(writer: Writer, query: str) -> list[tuple[object, ...]]:
    """All rows that a query finds."""
    return list(writer.reader().execute(query).fetchall())


def test_a_record_of_every_type_becomes_rows(writer: Writer) -> None:
    """Five types, their child tables, the accounts and the counts, in one transaction."""
    write(
        writer,
        put("ana", "track", at=1, document=documents.full("track")),
        put("ana", "profile", at=2),
        album("ana", [TRACK], at=3),
        like("ben", TRACK, at=4),
        comment("ben", TRACK, at=5),
    )

    assert {table: len(rows) for table, rows in contents(writer.reader()).items() if rows} == {
        "accounts": 2,
        "comments": 1,
        "likes": 1,
        "list_items": 1,
        "lists": 1,
        "meta": 1,
        "profiles": 1,
        "track_counts": 1,
        "track_features": 1,
        "track_tags": 2,
        "tracks": 1,
    }
    assert writer.tracked == {did("ana"), did("ben")}
    assert writer.unresolved() == sorted([did("ana"), did("ben")])


def test_a_track_and_what_is_said_of_it_may_come_in_one_batch_in_any_order(writer: Writer) -> None:
    """The like and the comment are counted although they stand before the track."""
    write(writer, like("ben", TRACK, at=2), comment("cid", TRACK, at=3), put("ana", "track", at=1))

    assert rows(writer, "select likes, comments from track_counts") == [(1, 1)]


def test_an_account_is_hidden_after_its_records_are_stored(writer: Writer) -> None:
    """So that a status in the same batch as the records covers them, and no count includes them."""
    hidden, liked = account("ben", "suspended", at=3), like("ben", TRACK, at=2)
    write(writer, put("ana", "track", at=1))

    written = writer.write(Batch(changes=[liked], accounts=[hidden]))
    while_hidden = rows(writer, "select likes from track_counts where likes > 0")
    write(writer, account("ben", "active", at=4))

    assert (written.rows, while_hidden) == (1, [])
    assert rows(writer, "select likes from track_counts") == [(1,)]


def test_a_removed_account_leaves_no_records_and_its_repo_is_unknown(writer: Writer) -> None:
    """Status and the PDS's own word agree; the records that came in the same batch go too."""
    gone = did("ben")

    written = writer.write(
        Batch(
            changes=[put("ana", "track", at=1), like("ben", TRACK, at=2)],
            accounts=[account("ben", "deleted", at=3)],
            refusals={gone: "deleted"},
        )
    )

    assert written.removed == (gone,)
    assert rows(writer, "select count(*) from likes") == [(0,)]
    assert rows(writer, "select state from repos where did = '" + gone + "'") == [("pending",)]


def test_the_outbox_names_each_stale_document_once_and_the_result_says_how_far_it_reaches(
    writer: Writer,
) -> None:
    """The search index follows these numbers."""
    first = writer.write(Batch(changes=[put("ana", "track", at=1)]))
    second = writer.write(Batch(changes=[like("ben", TRACK, n, at=2 + n) for n in range(3)]))

    outbox = rows(writer, f"select op, kind, key from outbox where op > {first.op} order by op")
    assert [op for op, _, _ in outbox] == list(range(first.op + 1, second.op + 1))
    assert len({(kind, key) for _, kind, key in outbox}) == len(outbox)


def test_an_account_is_resolved_when_it_is_first_met(writer: Writer) -> None:
    """Once, however many of its records come."""
    first = writer.write(Batch(changes=[put("ana", "track", n, at=1 + n) for n in range(2)]))
    again = writer.write(Batch(changes=[put("ana", "track", 5, at=9)]))

    assert (first.unresolved, again.unresolved) == ((did("ana"),), ())
