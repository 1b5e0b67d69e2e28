"""Labels in the catalogue: the newest holds, in any order; views and counts follow from it."""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from indexer.catalog.database import Database
from indexer.catalog.tables import labels as table
from indexer.catalog.tables import recount
from indexer.catalog.tables.labels import Statement
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.control.repairs import find_faults
from indexer.repo.changes import RecordChange
from schemas.labels import Label
from tests.indexer.changes import album, comment, contents, did, like, put, settings, uri, write

TRACK, LIST = uri("ana", "track"), uri("ana", "list")
LABELER, OTHER = did("labeler"), did("other")
OPERATOR = "did:web:localhost%3A8000"
ROUNDS = int(os.environ.get("TAKEDOWN_ROUNDS", "6"))
START = datetime(2026, 1, 1, tzinfo=UTC)
SELF_LABELS = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "porn"}]}


def given(
    subject: object,
    value: str,
    at: int = 1,
    *,
    source: str = LABELER,
    cid: str | None = None,
    expires: datetime | None = None,
    negated: bool = False,
) -> Label:
    """A label of the nth second."""
    return Label(source, str(subject), cid, value, START + timedelta(seconds=at), expires, negated)


def label(writer: Writer, *labels: Label) -> None:
    writer.write(Batch(labels=list(labels)))


def shown(writer: Writer) -> dict[str, int]:
    """How many rows every view shows."""
    views = (
        "visible_tracks",
        "listed_tracks",
        "visible_likes",
        "visible_comments",
        "visible_lists",
        "listed_lists",
    )
    with writer.reader() as con:
        return {view: con.execute(f"select count(*) from {view}").fetchall()[0][0] for view in views}


def fill(writer: Writer) -> dict[str, int]:
    """One of each; returns what is shown of it."""
    write(
        writer,
        put("ana", "track", at=1, tags=["dub"]),
        album("ana", [TRACK], at=2),
        like("ben", TRACK, at=3),
        comment("ben", TRACK, at=4),
    )
    return shown(writer)


def counts(writer: Writer) -> list[tuple[int, int]]:
    """Likes and comments of every track that has any."""
    with writer.reader() as con:
        query = "select likes, comments from track_counts where likes + comments > 0 order by all"
        return con.execute(query).fetchall()


@pytest.mark.parametrize("subject", [TRACK, did("ana")])
def test_an_adult_label_takes_tracks_out_of_lists_and_leaves_them_visible(
    writer: Writer, subject: object
) -> None:
    """Of the track or of its account; a negation brings them back, and marks what has to be shown anew."""
    before = fill(writer)

    label(writer, given(subject, "porn"))
    labelled = shown(writer)
    label(writer, given(subject, "porn", 2, negated=True))

    assert labelled == before | {"listed_tracks": 0} | ({"listed_lists": 0} if subject == did("ana") else {})
    assert shown(writer) == before
    marked = dict(writer.reader().execute("select kind, count(*) from outbox group by 1").fetchall())
    assert {"track", "tag", "list", "artist"} <= marked.keys()


@pytest.mark.parametrize("value", ["!hide", "!takedown", "copyright"])
def test_a_hiding_label_withholds_a_record_and_its_later_versions(writer: Writer, value: str) -> None:
    before = fill(writer)

    label(writer, given(TRACK, value))
    write(writer, put("ana", "track", at=9, title="Another", tags=["dub"]))

    assert shown(writer) == before | {"visible_tracks": 0, "listed_tracks": 0}
    assert writer.reader().execute("select state, title from tracks").fetchall() == [("withheld", "Another")]
    label(writer, given(TRACK, value, 2, negated=True))
    assert shown(writer) == before
    assert find_faults(writer.reader()).sentences() == ()


def test_a_label_of_one_version_ends_with_it(writer: Writer) -> None:
    fill(writer)
    [(cid,)] = writer.reader().execute("select cid from tracks").fetchall()

    label(writer, given(TRACK, "!hide", cid=cid), given(TRACK, "porn", cid="bafyreiabc"))
    assert shown(writer)["visible_tracks"] == 0
    write(writer, put("ana", "track", at=9, title="Another"))

    assert (shown(writer)["visible_tracks"], shown(writer)["listed_tracks"]) == (1, 1)


def test_a_hidden_account_does_not_count_even_before_its_first_record(writer: Writer) -> None:
    label(writer, given(did("ben"), "!hide"))
    fill(writer)

    assert counts(writer) == []
    assert writer.hidden == {did("ben")}
    label(writer, given(did("ben"), "!hide", 2, negated=True))
    assert counts(writer) == [(1, 1)]


def test_likes_comments_and_lists_are_withheld_alone(writer: Writer) -> None:
    before = fill(writer)
    liked, said = like("ben", TRACK, at=3), comment("ben", TRACK, at=4)

    label(writer, given(liked.uri, "!hide"), given(said.uri, "!hide"), given(LIST, "copyright"))

    assert counts(writer) == []
    hidden = {"visible_likes": 0, "visible_comments": 0, "visible_lists": 0, "listed_lists": 0}
    assert shown(writer) == before | hidden


def test_a_label_expires_and_an_expired_one_has_no_effect(writer: Writer) -> None:
    """Also when it expires while nothing runs."""
    before = fill(writer)
    soon = datetime.now(UTC) + timedelta(seconds=0.2)
    label(writer, given(TRACK, "!hide", expires=soon), given(TRACK, "porn", expires=START))
    assert shown(writer)["visible_tracks"] == 0
    assert not writer.labels_due(soon - timedelta(seconds=0.1))

    while not writer.labels_due(datetime.now(UTC)):
        pass
    writer.write(Batch(expire=True))

    assert shown(writer) == before
    assert not writer.labels_due(datetime.now(UTC) + timedelta(days=999))


def test_what_the_operator_negates_no_labeler_says_with_effect(writer: Writer) -> None:
    before = fill(writer)
    label(writer, given(TRACK, "copyright"), given(TRACK, "porn"))

    overruled = given(TRACK, "copyright", source=OPERATOR, negated=True)
    writer.write(Batch(statements=[Statement(OPERATOR, None, [overruled], datetime.now(UTC))]))
    assert shown(writer) == before | {"listed_tracks": 0}
    writer.write(Batch(statements=[Statement(OPERATOR, None, [], datetime.now(UTC))]))

    assert shown(writer)["visible_tracks"] == 0


def test_what_a_labeler_no_longer_says_of_an_account_is_withdrawn(writer: Writer) -> None:
    """Of the accounts that were asked about, from before the question; other sources' labels stay."""
    fill(writer)
    late = given(TRACK, "gore", 100)
    label(
        writer,
        given(TRACK, "!hide"),
        given(TRACK, "rock", source=OTHER),
        given(did("ben"), "spam"),
        late,
    )

    answer = [given(TRACK, "nudity", 3)]
    asked_at = START + timedelta(seconds=50)
    writer.write(Batch(statements=[Statement(LABELER, frozenset({did("ana")}), answer, asked_at)]))

    rows = writer.reader().execute("select source, value from labels order by all").fetchall()
    assert sorted(rows) == sorted(
        [(LABELER, "gore"), (LABELER, "nudity"), (LABELER, "spam"), (OTHER, "rock")]
    )
    assert writer.label_sources() == {LABELER, OTHER}
    assert shown(writer)["visible_tracks"] == 1


def test_a_statement_reads_the_labels_of_its_accounts_alone(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many labels the source has: it makes one statement for every twenty accounts."""
    label(writer, *(given(did(f"p{number}"), "spam") for number in range(300)))
    read, rows = [], Database.rows

    def counted(self: Database, *arguments: Any) -> list[tuple[Any, ...]]:
        found = rows(self, *arguments)
        read.extend(found)
        return found

    monkeypatch.setattr(Database, "rows", counted)
    writer.write(Batch(statements=[Statement(LABELER, frozenset({did("p1")}), [], datetime.now(UTC))]))

    assert len(read) < 20
    assert writer.reader().execute("select count(*) from labels").fetchall() == [(299,)]


def test_labels_above_the_limits_are_dead_letters(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one source and subject; and of one source in all."""
    monkeypatch.setattr(table, "MOST_OF_A_SUBJECT", 3)
    label(writer, *(given(TRACK, f"value-{number}") for number in range(5)))
    assert writer.dead_letters == 2
    monkeypatch.setattr(table, "MOST_OF_A_SOURCE", 4)
    write(writer, *(put(f"p{number}", "track", at=1) for number in range(3)))
    label(writer, *(given(did(f"p{number}"), "spam") for number in range(3)))

    assert writer.dead_letters == 4
    assert len(writer.reader().execute("select * from labels").fetchall()) == 4


def test_labels_of_other_accounts_leave_room_for_those_of_artists(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A labeler of the whole network says most of accounts without a record here."""
    write(writer, put("ana", "track", at=1))
    monkeypatch.setattr(table, "MOST_WITH_OTHERS", 3)
    monkeypatch.setattr(table, "MOST_OF_A_SOURCE", 5)
    label(writer, *(given(did(f"p{number}"), "spam") for number in range(9)))
    label(writer, given(did("ana"), "porn"), given(TRACK, "porn"), given(TRACK, "rock"))

    kept = writer.reader().execute("select subject from labels").fetchall()
    assert sum(subject in (str(TRACK), did("ana")) for (subject,) in kept) == 2
    assert len(kept) == 5


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.slow
def test_labels_and_records_give_the_same_rows_in_any_order(tmp_path: Path, seed: int) -> None:
    """The newest label of each kind decides; counts are those of a recount, and restarts change nothing."""
    chance = random.Random(seed)
    records = [
        put("ana", "track", at=1, tags=["dub"], labels=SELF_LABELS if chance.random() < 0.3 else None)
        if chance.random() < 0.3
        else put("ana", "track", at=1, tags=["dub"]),
        album("ana", [TRACK], at=2),
        like("ben", TRACK, at=3),
        comment("ben", TRACK, at=4),
    ]
    subjects = [*(change.uri for change in records), did("ana"), did("ben")]
    labels = [
        given(
            chance.choice(subjects),
            chance.choice(["!hide", "porn", "rock"]),
            number,
            source=chance.choice([LABELER, OTHER]),
            negated=chance.random() < 0.4,
        )
        for number in range(20)
    ]
    steps: list[RecordChange | Label] = [*records, *labels]

    with Writer.open(settings(tmp_path / "once")) as writer:
        write(writer, *records)
        label(writer, *labels)
        expected = contents(writer.reader()), shown(writer)
    chance.shuffle(steps)
    writer = Writer.open(settings(tmp_path / "mixed"))
    try:
        for step in steps:
            if isinstance(step, RecordChange):
                write(writer, step)
            else:
                label(writer, step)
            assert recount.find_wrong_counts(writer.reader()) == []
            if chance.random() < 0.1:
                writer.close()
                writer = Writer.open(settings(tmp_path / "mixed"))
        found = contents(writer.reader()), shown(writer)
        assert find_faults(writer.reader()).sentences() == ()
    finally:
        writer.close()

    assert found == expected
