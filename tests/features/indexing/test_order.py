"""Whatever the order, the repetitions and the restarts: the same events leave the same rows."""

import itertools
import os
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path

import hypothesis
import pytest
from hypothesis import Phase
from hypothesis import strategies as st

from indexer.catalog.tables import recount
from indexer.catalog.tables.records import Hashing
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import Account
from indexer.repo.changes import RecordChange
from schemas.ids import record_id
from tests import documents
from tests.indexer.changes import (
    Rows,
    account,
    album,
    comment,
    contents,
    delete,
    like,
    put,
    settings,
    uri,
    write,
)

# Eight public ids for the tracks and comments of three people: most of them meet another.
NARROW = Hashing(id=lambda name, attempt: record_id(name, attempt) >> max(50 - 10 * attempt, 0))
EXAMPLES = int(os.environ.get("ORDER_EXAMPLES", "4"))
MEMORY = Path("/dev/shm")
PEOPLE = ("ana", "ben", "cid")
KINDS = ("track", "like", "comment", "list", "profile")

Thing = RecordChange | Account

people = st.sampled_from(PEOPLE)
numbers = st.integers(0, 2)
seconds = st.integers(1, 9)
versions = st.tuples(people, st.sampled_from(KINDS[:-1]), numbers, seconds)
profiles = st.tuples(people, st.just("profile"), st.just(0), seconds)
records = st.dictionaries(versions | profiles, st.integers(0, 5), min_size=1, max_size=30)
events = st.dictionaries(
    st.tuples(people, seconds), st.sampled_from(("active", "deactivated", "takendown", "deleted")), max_size=5
)
bounded = hypothesis.settings(
    max_examples=EXAMPLES,
    phases=[Phase.reuse, Phase.generate],  # to shrink an example takes minutes
    print_blob=True,
)


def change(person: str, kind: str, number: int, second: int, variant: int) -> RecordChange:
    """One version of a record: the same for the same arguments."""
    subject = uri(PEOPLE[variant % 3], "track", variant % 2)
    match kind, variant:
        case _, 0:
            return delete(person, kind, number, at=second)
        case _, 1:
            return put(person, kind, number, at=second, createdAt="yesterday")
        case "track", _:
            return put(
                person, kind, number, at=second, document=documents.full(kind) | {"title": f"{variant}"}
            )
        case "like", _:
            return like(person, subject, number, at=second)
        case "comment", _:
            return comment(person, subject, number, at=second, text=f"{variant}")
        case "list", _:
            return album(person, [subject, uri("ben", "track", 1)][: variant - 1], number, at=second)
        case _:
            return put(person, kind, number, at=second, bio=f"{variant}")


def rows_after(things: Iterable[Thing], dice: random.Random | None = None) -> Rows:
    """The rows that a new catalogue has at the end: in order and at once, or as the dice fall."""
    things = list(things)
    if dice is not None:
        things += dice.choices(things, k=len(things) // 2)
        dice.shuffle(things)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.exists() else None) as folder:
        known: list[Thing] = [put(person, "profile", at=0) for person in PEOPLE]
        for run in [[known], *(cut(part, 4, dice) for part in cut(things, 2, dice))]:
            with Writer.open(settings(Path(folder)), NARROW) as writer:
                for batch in run:
                    write(writer, *batch)
        with Writer.open(settings(Path(folder)), NARROW) as writer:
            assert recount.find_wrong_counts(writer.reader()) == []
            return contents(writer.reader())


def cut(things: list[Thing], most: int, dice: random.Random | None) -> list[list[Thing]]:
    """The same things in order, in one piece or cut at up to so many places."""
    places = [] if dice is None else sorted(dice.choices(range(len(things) + 1), k=dice.randint(0, most)))
    return [things[start:end] for start, end in itertools.pairwise([0, *places, len(things)])]


@pytest.mark.slow
@bounded
@hypothesis.given(records, st.randoms(use_true_random=True))
def test_commits_in_any_order_leave_the_same_rows(
    versions: dict[tuple[str, str, int, int], int], dice: random.Random
) -> None:
    """Interleaved, repeated and interrupted, with public ids that collide."""
    changes = [change(*where, variant) for where, variant in sorted(versions.items())]

    assert rows_after(changes, dice) == rows_after(changes)


@pytest.mark.slow
@bounded
@hypothesis.given(records, events, st.randoms(use_true_random=True))
def test_account_events_among_them_change_nothing_of_that(
    versions: dict[tuple[str, str, int, int], int],
    statuses: dict[tuple[str, int], str],
    dice: random.Random,
) -> None:
    """Hiding, removing and coming back may arrive early, late and twice, too."""
    things: list[Thing] = [change(*where, variant) for where, variant in sorted(versions.items())]
    things += [account(person, status, at=second) for (person, second), status in statuses.items()]

    shuffled, plain = rows_after(things, dice), rows_after(things)

    assert without_ids(shuffled) == without_ids(plain)


def without_ids(rows: Rows) -> Rows:
    """A removal frees ids that a record without the removed one in its way would have had."""
    return {
        table: [row[:8] + row[9:] for row in found] if table in ("tracks", "comments") else found
        for table, found in rows.items()
    }


def test_an_empty_batch_changes_nothing(writer: Writer) -> None:
    """The pipeline commits one to move a cursor."""
    written = writer.write(Batch())

    assert (written.rows, written.op) == (0, 0)
