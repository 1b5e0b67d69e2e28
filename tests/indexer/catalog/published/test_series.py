"""Series count what everybody may see, each record on one day."""

import asyncio
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from indexer.catalog.published.snapshots import FAILED, Snapshots
from indexer.catalog.writing.writer import Writer
from indexer.repo.changes import RecordChange
from readapi.state.publishing.play_counts import hour_of
from readapi.state.state import open_state
from schemas import data_folder
from schemas.ids import AtUri, record_key
from schemas.series import subject_of
from schemas.settings import Settings
from tests import documents
from tests.indexer import empty_catalogues
from tests.indexer.catalog.published.test_snapshots import Clock, publish_due
from tests.indexer.catalog.tables.test_labels import SELF_LABELS
from tests.indexer.changes import START, account, delete, did, put, settings, uri, write
from tests.readapi.state.people import HandClock

DAY = 24 * 3600
LATE = "2026-12-31T00:00:00.000Z"
ONE, TWO, UNLISTED, PRIVATE, ADULT = (uri("ana", "track", n) for n in (1, DAY, 2, 3, 4))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def snapshots(tmp_path: Path, writer: Writer, clock: Clock) -> Snapshots:
    return Snapshots(settings(tmp_path), writer, clock)


def track(number: int, visibility: str = "public", *tags: str, **fields: Any) -> RecordChange:
    """Ana's track of that second. What a record claims is later than that it was seen, and does not count."""
    access = {"listening": "public", "downloads": "open", "visibility": visibility}
    return put("ana", "track", number, at=number, createdAt=LATE, tags=list(tags), access=access, **fields)


def reaction(kind: str, person: str, subject: AtUri, number: int) -> RecordChange:
    """A like or a comment of that second."""
    on = documents.strong_ref(str(subject))
    return put(person, kind, number, at=number, createdAt=LATE, subject=on)


def fill(writer: Writer) -> None:
    """Two public tracks on two days; on the first, one of each other visibility and one for adults.

    Each is liked once.
    """
    on_first = (ONE, UNLISTED, PRIVATE, ADULT)
    write(
        writer,
        track(1, "public", "x"),
        track(2, "unlisted", "x"),
        track(3, "private", "x"),
        track(4, "public", "x", labels=SELF_LABELS),
        track(DAY, "public", "x", "y"),
        *(reaction("like", "ben", subject, n) for n, subject in enumerate(on_first, 10)),
        reaction("like", "ben", TWO, DAY + 10),
        reaction("comment", "ben", TWO, DAY + 11),
    )


def counted(snapshots: Snapshots, table: str, subject: int = 0) -> dict[int, tuple[int, ...]]:
    """Likes, comments, tracks and artists by the number of the day."""
    counts = "day - ?::date, likes, comments, tracks, artists"
    query = f"select {counts} from {table}_days where subject = ? order by all"
    newest = snapshots.folder / Path(data_folder.NEWEST_SERIES).name
    with duckdb.connect(newest, read_only=True) as con:
        return {day: tuple(rest) for day, *rest in con.execute(query, [START.date(), subject]).fetchall()}


def test_each_subject_has_its_counts_by_the_day(writer: Writer, snapshots: Snapshots) -> None:
    """Tracks that no table of the open data has count for themselves alone."""
    fill(writer)
    snapshots.publish()

    assert counted(snapshots, "all") == {0: (1, 0, 1, 1), 1: (1, 1, 1, 0)}
    assert counted(snapshots, "artist", subject_of(did("ana"))) == {0: (1, 0, 1, 0), 1: (1, 1, 1, 0)}
    assert counted(snapshots, "tag", subject_of("x")) == {0: (1, 0, 1, 1), 1: (1, 1, 1, 0)}
    assert counted(snapshots, "tag", subject_of("y")) == {1: (1, 1, 1, 1)}
    assert counted(snapshots, "track", record_key(str(UNLISTED))) == {0: (1, 0, 1, 0)}
    assert counted(snapshots, "track", record_key(str(ADULT))) == {0: (1, 0, 1, 0)}
    assert counted(snapshots, "track", record_key(str(PRIVATE))) == {0: (1, 0, 0, 0)}


def test_an_accounts_likes_of_a_track_count_once(writer: Writer, snapshots: Snapshots) -> None:
    """On the day of the first; when that is taken back, on the day of the next."""
    fill(writer)
    write(writer, reaction("like", "ben", ONE, 2 * DAY))
    snapshots.publish()
    twice = counted(snapshots, "track", record_key(str(ONE)))
    write(writer, delete("ben", "like", 10, at=2 * DAY + 1))
    snapshots.publish()

    assert twice == {0: (1, 0, 1, 0)}
    assert counted(snapshots, "track", record_key(str(ONE))) == {0: (0, 0, 1, 0), 2: (1, 0, 0, 0)}


def test_an_accounts_comments_count_up_to_their_limit(tmp_path: Path) -> None:
    """The first ones, as everywhere."""
    empty_catalogues.begin(tmp_path)
    limited = settings(tmp_path, comments_per_track=2)
    with Writer.open(limited) as writer:
        fill(writer)
        write(writer, *(reaction("comment", "cleo", ONE, day * DAY) for day in range(2, 6)))
        snapshots = Snapshots(limited, writer)
        snapshots.publish()

    assert counted(snapshots, "track", record_key(str(ONE))) == {
        0: (1, 0, 1, 0),
        2: (0, 1, 0, 0),
        3: (0, 1, 0, 0),
    }


def test_what_is_hidden_counts_no_more(writer: Writer, snapshots: Snapshots) -> None:
    """Likes with their account, and all of a track with its artist."""
    fill(writer)
    write(writer, account("ben", "takendown", at=2 * DAY))
    snapshots.publish()
    without_ben = counted(snapshots, "all")
    write(writer, account("ana", "takendown", at=2 * DAY + 1))
    snapshots.publish()

    assert without_ben == {0: (0, 0, 1, 1), 1: (0, 0, 1, 0)}
    assert counted(snapshots, "all") == {}


def test_sums_are_the_totals(writer: Writer, snapshots: Snapshots) -> None:
    """Of each track, as its counters have them."""
    fill(writer)
    snapshots.publish()

    newest = snapshots.folder / Path(data_folder.NEWEST_SERIES).name
    with duckdb.connect(newest, read_only=True) as con, writer.reader() as catalogue:
        counts = "subject, sum(likes)::bigint, sum(comments)::bigint"
        sums = con.execute(f"select {counts} from track_days group by all order by all").fetchall()
        query = "select subject_key, likes, comments from track_counts order by all"
        assert sums == catalogue.execute(query).fetchall()


def test_series_follow_snapshots_with_a_pause(writer: Writer, snapshots: Snapshots, clock: Clock) -> None:
    """A snapshot that is due sooner is published without."""
    fill(writer)
    publish_due(snapshots)
    first = counted(snapshots, "all")
    write(writer, reaction("like", "cleo", ONE, 60))
    snapshots._next_series = clock() + 50  # the first took long
    clock.now += 20
    publish_due(snapshots)
    unchanged, due = counted(snapshots, "all"), snapshots.series_due
    clock.now += 40
    publish_due(snapshots)

    assert (unchanged, due) == (first, False)
    assert counted(snapshots, "all")[0] == (2, 0, 1, 1)
    assert not snapshots.series_due


def test_a_failure_is_told_and_tried_again(
    writer: Writer, snapshots: Snapshots, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot is published all the same, and what was begun is removed."""
    fill(writer)
    before = FAILED.labels("series")._value.get()
    with monkeypatch.context() as broken:
        broken.setattr("indexer.catalog.published.series.MEMORY", "1MB")
        publish_due(snapshots)
    failures, left = snapshots.failures, list(snapshots.folder.glob("series*"))
    clock.now += 60
    publish_due(snapshots)

    assert FAILED.labels("series")._value.get() == before + 1
    assert [failure.startswith("The last series could not be written") for failure in failures] == [True]
    assert left == []
    assert snapshots.current.exists()
    assert snapshots.failures == []
    assert counted(snapshots, "all")


def test_old_files_are_removed(writer: Writer, snapshots: Snapshots) -> None:
    """All but the newest two; nothing that was used while counting stays either."""
    for second in range(4):
        write(writer, put("ana", "track", second, at=second))
        snapshots.publish()

    assert sorted(path.name for path in snapshots.folder.glob("series*")) == [
        "series",
        "series-3.duckdb",
        "series-4.duckdb",
    ]


@pytest.mark.slow
async def test_plays_are_counted_by_the_hour_and_by_the_day(
    writer: Writer, state_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of listed tracks, on each kind of state database; what grows or is new, the next time."""
    monkeypatch.setattr("indexer.catalog.published.series.GROWING", timedelta(0))
    fill(writer)
    clock, snapshots = HandClock(), Snapshots(state_settings, writer)
    clock.time = datetime.now(UTC).replace(hour=22, minute=10) - timedelta(days=10)
    begin = hour_of(clock()).replace(tzinfo=None)
    async with open_state(state_settings, clock) as state:
        for song in (ONE, ONE, TWO, UNLISTED, PRIVATE, ADULT):
            await state.plays.count(song, str(random.random()), None)
        await asyncio.to_thread(snapshots.publish)
        first = hourly(snapshots, "track", record_key(str(ONE)))
        clock.forward(hours=1)
        for number in range(2):
            await state.plays.count(ONE, str(number), None)
        await asyncio.to_thread(snapshots.publish)
        clock.forward(hours=1)
        await state.plays.count(TWO, "ana", None)
        await asyncio.to_thread(snapshots.publish)

    hours = [begin + timedelta(hours=number) for number in range(3)]
    assert first == {hours[0]: 2}
    assert hourly(snapshots, "track", record_key(str(ONE))) == {hours[0]: 2, hours[1]: 2}
    assert hourly(snapshots, "artist", subject_of(did("ana"))) == {hours[0]: 3, hours[1]: 2, hours[2]: 1}
    assert hourly(snapshots, "tag", subject_of("y")) == {hours[0]: 1, hours[2]: 1}
    assert hourly(snapshots, "all") == {hours[0]: 3, hours[1]: 2, hours[2]: 1}
    assert daily(snapshots) == {hours[0].date(): 5, hours[2].date(): 1}


async def test_plays_stay_while_the_state_database_is_away(
    writer: Writer, state_settings: Settings, tmp_path: Path
) -> None:
    """As the last file has them; all are read again when it is there."""
    fill(writer)
    snapshots = Snapshots(state_settings, writer)
    async with open_state(state_settings) as state:
        await state.plays.count(ONE, "ana", None)
        await asyncio.to_thread(snapshots.publish)
    before = hourly(snapshots, "all")
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("schemas.play_counts._HOURS", "select nothing from nowhere where ? < ?")
        await asyncio.to_thread(snapshots.publish)
        away = hourly(snapshots, "all")
    await asyncio.to_thread(snapshots.publish)

    assert list(before.values()) == [1]
    assert away == before
    assert hourly(snapshots, "all") == before


def hourly(snapshots: Snapshots, table: str, subject: int = 0) -> dict[datetime, int]:
    """Plays by the hour."""
    return dict(ask(snapshots, f"select hour, plays from {table}_hours where subject = {subject}"))


def daily(snapshots: Snapshots) -> dict[date, int]:
    """Plays of everything by the day."""
    return dict(ask(snapshots, "select day, plays from all_days where plays > 0"))


def ask(snapshots: Snapshots, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query of the newest file."""
    newest = snapshots.folder / Path(data_folder.NEWEST_SERIES).name
    with duckdb.connect(newest, read_only=True) as con:
        return con.execute(query).fetchall()
