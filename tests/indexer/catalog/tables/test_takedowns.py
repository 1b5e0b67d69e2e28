"""Takedowns hide records and accounts in every count and view, in any order with the records themselves."""

import os
import random
from pathlib import Path

import pytest

from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.control.repairs import find_faults
from indexer.repo.changes import RecordChange
from tests.indexer.changes import (
    account,
    album,
    comment,
    contents,
    delete,
    did,
    like,
    put,
    settings,
    uri,
    write,
)

TRACK, OTHER = uri("ana", "track"), uri("ana", "track", 1)
ROUNDS = int(os.environ.get("TAKEDOWN_ROUNDS", "8"))


def take_down(writer: Writer, *subjects: object) -> None:
    """These subjects alone are taken down from now on."""
    writer.write(Batch(takedowns=frozenset(map(str, subjects))))


def shown(writer: Writer) -> dict[str, list[str]]:
    """The at-uris that every view shows."""
    views = ("visible_tracks", "visible_likes", "visible_comments", "visible_lists")
    with writer.reader() as con:
        return {
            view: [name for (name,) in con.execute(f"select uri from {view} order by 1").fetchall()]
            for view in views
        }


def counts(writer: Writer) -> list[tuple[int, int]]:
    """Likes and comments of every track that has any."""
    with writer.reader() as con:
        query = "select likes, comments from track_counts where likes + comments > 0 order by all"
        return con.execute(query).fetchall()


def test_a_record_is_hidden_and_comes_back_whole(writer: Writer) -> None:
    """With its tags; its likes stay counted, and a later version of it stays hidden."""
    write(
        writer, put("ana", "track", at=1, tags=["dub"]), like("ben", TRACK, at=2), album("ana", [TRACK], at=3)
    )
    before = contents(writer.reader())

    take_down(writer, TRACK)
    hidden = shown(writer)["visible_tracks"]
    marked = dict(writer.reader().execute("select kind, count(*) from outbox group by 1").fetchall())
    write(writer, put("ana", "track", at=4, title="Another", tags=["dub"]))
    still = shown(writer)["visible_tracks"]
    take_down(writer)

    assert (hidden, still) == ([], [])
    assert {"track", "tag", "artist", "list"} <= marked.keys()
    assert shown(writer)["visible_tracks"] == [str(TRACK)]
    assert contents(writer.reader())["track_tags"] == before["track_tags"]
    assert find_faults(writer.reader()).sentences() == ()


def test_an_account_is_hidden_with_its_likes_even_before_its_first_record(writer: Writer) -> None:
    """And is shown again with all that came meanwhile, however its host stands."""
    take_down(writer, did("ben"))
    write(writer, put("ana", "track", at=1), like("ben", TRACK, at=2), comment("ben", TRACK, at=3))
    unseen = counts(writer)
    write(writer, account("ben", "active", at=4))
    still = counts(writer)
    take_down(writer)

    assert (unseen, still) == ([], [])
    assert counts(writer) == [(1, 1)]
    take_down(writer, did("ben"))
    assert counts(writer) == []
    assert writer.hidden == {did("ben")}


def test_a_like_and_a_comment_that_are_taken_down_do_not_count(tmp_path: Path) -> None:
    """Also after a restart, which counts likes anew in memory."""
    liked, said = like("ben", TRACK, at=2), comment("cid", TRACK, at=3)
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, put("ana", "track", at=1), liked, said)
        take_down(writer, liked.uri, said.uri)
        assert counts(writer) == []
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, like("ben", TRACK, 1, at=5))
        assert counts(writer) == [(1, 0)]
        take_down(writer)
        assert counts(writer) == [(1, 1)]
        write(writer, delete("ben", "like", 1, at=6))
        assert counts(writer) == [(1, 1)]


def test_subjects_of_nothing_that_is_stored_do_no_harm(writer: Writer) -> None:
    """Unknown accounts and records, recordings, records in Spaces, collections that are not ours."""
    write(writer, put("ana", "track", at=1))
    space = f"at://{did('ana')}/space/fm.svc.space/self/{did('ana')}/fm.svc.track/3kznmn7xqxl22"

    take_down(
        writer, did("zoe"), uri("zoe", "track"), "b" + "a" * 58, space, f"at://{did('ana')}/app.x.y/self"
    )

    assert shown(writer)["visible_tracks"] == [str(TRACK)]


def events(chance: random.Random) -> list[RecordChange]:
    """A small history of three people: few records, so that most are written and deleted again."""
    made: list[RecordChange] = []
    for at in range(1, 25):
        person, number = chance.choice(("ana", "ben", "cid")), chance.randrange(2)
        subject = chance.choice((TRACK, OTHER))
        made.append(
            chance.choice(
                (
                    put(person, "track", number, at=at, tags=[chance.choice(("dub", "jazz"))]),
                    like(person, subject, number, at=at),
                    comment(person, subject, number, at=at),
                    album(person, [subject], number, at=at),
                    put(person, "profile", at=at, displayName=f"Name {at}"),
                    delete(person, chance.choice(("track", "like", "comment", "list")), number, at=at),
                )
            )
        )
    return made


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.slow
def test_takedowns_and_records_give_the_same_rows_in_any_order(tmp_path: Path, seed: int) -> None:
    """What stands at the end decides; counts are those of a recount, and restarts change nothing."""
    chance = random.Random(seed)
    made = events(chance)
    subjects = [str(change.uri) for change in made] + [did(person) for person in ("ana", "ben", "cid")]
    last = chance.sample(subjects, chance.randrange(5))
    steps: list[list[RecordChange] | list[str]] = [[change] for change in made]
    for _ in range(6):
        steps.insert(chance.randrange(len(steps)), chance.sample(subjects, chance.randrange(5)))

    with Writer.open(settings(tmp_path / "once")) as writer:
        write(writer, *made)
        take_down(writer, *last)
        expected = contents(writer.reader())
    writer = Writer.open(settings(tmp_path / "mixed"))
    try:
        for step in [*steps, last]:
            if step and isinstance(step[0], RecordChange):
                write(writer, *(change for change in step if isinstance(change, RecordChange)))
            else:
                take_down(writer, *step)
            assert recount.find_wrong_counts(writer.reader()) == []
            if chance.random() < 0.2:
                writer.close()
                writer = Writer.open(settings(tmp_path / "mixed"))
        found = contents(writer.reader())
        assert find_faults(writer.reader()).sentences() == ()
    finally:
        writer.close()

    assert found == expected
