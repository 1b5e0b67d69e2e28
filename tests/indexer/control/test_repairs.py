"""Counts agree with the records after any history; where they do not, they are found and put right."""

import asyncio
import os
import random
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from structlog.testing import capture_logs

from indexer import operations
from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch, ResyncResult
from indexer.catalog.writing.intake import Intake
from indexer.catalog.writing.writer import Writer
from indexer.control import repairs
from indexer.control.repairs import Repairs
from indexer.repo import signing_keys
from indexer.repo.changes import RecordChange, RepoHead
from indexer.repo.extract import Fetched
from indexer.stores import Stores
from schemas.ids import record_key
from tests.indexer.changes import account, comment, delete, did, like, put, rev, settings, uri, write
from tests.network.forge import SigningKey

ROUNDS = int(os.environ.get("COUNT_ROUNDS", "20"))
KEY = signing_keys.parse_key(SigningKey("counted").multibase)
TRACK, OTHER = uri("ana", "track", 0), uri("ana", "track", 1)
PEOPLE = ("ben", "cid", "dan")


def mend(person: str, *records: RecordChange, at: int) -> ResyncResult:
    """The whole repo of a person, as fetched then."""
    held = {(one.collection, one.rkey): (one.cid, one.block) for one in records}
    return ResyncResult(did(person), KEY, Fetched(did(person), rev(at), b"a tree", held))  # type: ignore[arg-type]


def active(person: str, at: int) -> dict[object, RepoHead]:
    return {did(person): RepoHead("active", rev(at), b"a tree")}


def likes_of(writer: Writer) -> list[tuple[int, int]]:
    with writer.reader() as con:
        return con.execute("select subject_key, likes from track_counts order by all").fetchall()


@pytest.mark.parametrize(
    ("streamed", "fetched", "likes"),
    [
        ([like("ben", TRACK, 0, at=1)], [], 0),
        ([like("ben", TRACK, 0, at=1)], [like("ben", TRACK, 0, at=1), like("ben", TRACK, 1, at=2)], 1),
        ([like("ben", TRACK, 0, at=1)], [like("ben", TRACK, 1, at=2)], 1),
    ],
    ids=["gone in the fetch", "liked twice in the fetch", "liked anew in the fetch"],
)
def test_a_like_of_the_stream_and_its_repo_in_one_transaction(
    writer: Writer, streamed: list[RecordChange], fetched: list[RecordChange], likes: int
) -> None:
    """What the fetch changes is counted on from what the stream has changed just before."""
    writer.write(Batch(changes=streamed, repos=active("ben", 1), resyncs=[mend("ben", *fetched, at=3)]))  # type: ignore[arg-type]

    assert likes_of(writer) == ([(record_key(str(TRACK)), likes)] if likes else [])


def test_an_unlike_of_the_stream_and_a_like_of_the_repo(writer: Writer) -> None:
    """The count goes down and up again, and what follows moves it to where it belongs."""
    write(writer, like("ben", TRACK, 0, at=1))
    writer.write(
        Batch(
            changes=[delete("ben", "like", 0, at=2)], resyncs=[mend("ben", like("ben", TRACK, 1, at=3), at=3)]
        )
    )
    liked = likes_of(writer)

    write(writer, delete("ben", "like", 1, at=4))

    assert (liked, likes_of(writer)) == ([(record_key(str(TRACK)), 1)], [])


def history(dice: random.Random, at: int) -> Batch:
    """Stream, resyncs, deletions, hiding and removal of accounts, in one transaction."""
    changes, mends = [], list[ResyncResult]()
    for _ in range(dice.randrange(1, 6)):
        person, number = dice.choice(PEOPLE), dice.randrange(3)
        made = dice.choice((like, comment))(person, dice.choice((TRACK, OTHER)), number, at=at)
        kind = "like" if made.collection.endswith("like") else "comment"
        changes.append(dice.choice((made, made, delete(person, kind, number, at=at))))
    for person in dice.sample(PEOPLE, dice.randrange(len(PEOPLE))):
        whole = [like(person, dice.choice((TRACK, OTHER)), n, at=at) for n in range(3) if dice.random() < 0.5]
        mends.append(mend(person, *whole, at=at + dice.randrange(2)))
    statuses = ("active", "takendown", "deactivated", "deleted")
    events = [account(one, dice.choice(statuses), at=at) for one in dice.sample(PEOPLE, dice.randrange(2))]
    refusals = {event.did: "deleted" for event in events if event.status == "deleted" and dice.random() < 0.5}
    again = {did(person) for person in PEOPLE if dice.random() < 0.1}
    return Batch(changes=changes, resyncs=mends, accounts=events, refusals=refusals, again=again)


@pytest.mark.slow
def test_counts_are_those_of_a_recount_after_any_history(tmp_path: Path) -> None:
    """Whatever one transaction holds, and across a start, at which memory is read from the tables."""
    dice = random.Random(os.environ.get("SEED", "39"))
    writer = Writer.open(settings(tmp_path))
    try:
        for at in range(1, ROUNDS + 1):
            writer.write(history(dice, at * 2))
            with writer.reader() as con:
                assert recount.find_wrong_counts(con) == [], f"after transaction {at}"
            if dice.random() < 0.05:
                writer.close()
                writer = Writer.open(settings(tmp_path))
    finally:
        writer.close()


DAMAGE = (
    "update track_counts set likes = -1",
    "insert into track_counts values (77, 3, 0, 0)",
    "insert into track_tags values (5, 0, 'lost')",
)


def damaged(folder: Path, damage: Sequence[str] = DAMAGE) -> int:
    """A catalogue whose counts are wrong. Returns the outbox's newest entry."""
    with Writer.open(settings(folder)) as writer:
        write(writer, put("ana", "track", 0, at=1), like("ben", TRACK, at=1), comment("cid", TRACK, at=1))
        writer.write(Batch(plays={record_key(str(TRACK)): 7}))
        with writer.reader() as con:
            for statement in damage:
                con.execute(statement)
        return writer.op


def counted(writer: Writer) -> list[tuple[int, int, int, int]]:
    with writer.reader() as con:
        return con.execute("select * from track_counts order by all").fetchall()


RIGHT = [(record_key(str(TRACK)), 1, 1, 7)]


async def test_a_repair_counts_anew_and_says_so(tmp_path: Path) -> None:
    """Plays stay; documents that show the counts are made again; a second repair finds nothing."""
    op = await asyncio.to_thread(damaged, tmp_path)

    said, again = (
        await operations.repair_catalogue(settings(tmp_path)),
        await operations.repair_catalogue(settings(tmp_path)),
    )

    assert said == (
        "2 tracks were recounted, and their search documents will be rendered again.",
        "1 rows that belonged to no record were removed.",
    )
    assert again == ()
    with Writer.open(settings(tmp_path)) as writer, writer.reader() as con:
        assert counted(writer) == RIGHT
        assert con.execute("select * from track_tags where tag = 'lost'").fetchall() == []
        found = con.execute("select kind, key, name from outbox where op > ?", [op]).fetchall()
    assert set(found) == {("tag", None, "lost"), ("rank", 77, None), ("rank", RIGHT[0][0], None)}


async def test_the_daily_sample_finds_wrong_counts_and_puts_them_right(tmp_path: Path) -> None:
    """Bounded, counted and told as an error; the next likes count on from what is right."""
    await asyncio.to_thread(damaged, tmp_path, DAMAGE[:1])
    stores = await asyncio.to_thread(Stores.open, settings(tmp_path))
    intake = Intake(stores.write, batch_rows=500, batch_seconds=0.01, buffer_bytes=1 << 20)
    found = Repairs(stores, intake)
    running = asyncio.create_task(intake.run())
    wrong_before = repairs.WRONG._value.get()

    with capture_logs() as told:
        wrong, wrong_again = await found.compare(0), await found.compare(0)
    intake.batch.changes.append(like("dan", TRACK, at=5))
    intake.added(1)
    await intake.committed()
    after = counted(stores.writer)
    intake.close()
    await running
    await stores.close()

    assert (wrong, wrong_again, repairs.WRONG._value.get() - wrong_before) == (1, 0, 1)
    assert [line["log_level"] for line in told] == ["error"]
    assert after == [(RIGHT[0][0], 2, 1, 7)]


def test_a_sample_is_bounded_and_goes_round(writer: Writer) -> None:
    """However many tracks are liked, so many are recounted; from any key on all can be reached."""
    write(writer, *(like("ben", uri("ana", "track", number), number, at=1) for number in range(30)))

    with writer.reader() as con:
        tail = repairs._round(con, (1 << 63) - 1, 10)
        everything = repairs._round(con, 0, 100)

    assert (len(tail), tail, len(everything)) == (10, sorted(tail), 30)


async def test_a_running_indexer_repairs_when_it_is_asked(tmp_path: Path) -> None:
    """`check --repair` asks it by the control socket."""
    await asyncio.to_thread(damaged, tmp_path, DAMAGE)
    stores = await asyncio.to_thread(Stores.open, settings(tmp_path))
    intake = Intake(stores.write, batch_rows=500, batch_seconds=0.01, buffer_bytes=1 << 20)
    running = asyncio.create_task(intake.run())
    (route,) = Repairs(stores, intake).routes()

    answer = await route.handler(None)  # type: ignore[arg-type, misc]
    after = counted(stores.writer)
    intake.close()
    await running
    await stores.close()

    assert len(orjson.loads(answer.body)) == 2  # type: ignore[union-attr, arg-type]
    assert after == RIGHT
