"""Series over HTTP: what they count, how they are asked for, and what is refused."""

import csv
import io
from urllib.parse import quote

import pytest

from readapi.state.state import open_state
from schemas import data_folder
from schemas.api.series import Series
from tests.indexer.changes import did, put, uri
from tests.indexer.running import until
from tests.readapi.music import PRIVATE, PUBLIC_TRACKS, UNLISTED, playing, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARCH = "&bucket=month&from=2026-03-01&to=2026-04-01"


async def total(music, question):
    """The sum of the only series."""
    reply = await music.get(f"/stats/series?{question}{MARCH}")
    assert reply.status == 200, reply.json
    [one] = Series.model_validate(reply.json, strict=True).series
    assert one.total == sum(one.values)
    return one.total


@pytest.mark.parametrize(
    ("metric", "unlisted"), [("likes", 0), ("comments", 0), ("tracks", 1), ("artists", 0)]
)
async def test_everything_comes_to_the_totals(music, metric, unlisted):
    """Those of `/stats`, which counts the unlisted track as well."""
    stats = (await music.get("/stats")).json

    assert await total(music, f"metric={metric}") == stats[f"total_{metric}"] - unlisted


async def test_one_subject_is_counted(music):
    """However it is named; an unlisted track counts for itself alone. Ben's has the tag too."""
    song = quote(str(uri("mara", "track", 2)), safe="")

    assert await total(music, f"metric=likes&track={track_id('mara', 2)}") == 3
    assert await total(music, f"metric=comments&track={song}") == 2
    assert await total(music, "metric=tracks&artist=MARA.example") == PUBLIC_TRACKS + 1
    assert await total(music, f"metric=likes&artist={did('mara')}") == 4
    assert await total(music, "metric=tracks&tag=AMBIENT") == PUBLIC_TRACKS + 2
    assert await total(music, f"metric=likes&track={track_id('mara', UNLISTED)}") == 0


async def test_an_account_is_a_liker_once(music):
    """Of an artist or of anything, whatever it likes; of a track it likes it once anyway."""
    likes = await total(music, f"metric=likes&artist={did('mara')}")
    likers = await total(music, f"metric=likers&artist={did('mara')}")

    assert likers < likes
    assert likers <= await total(music, "metric=likers") < await total(music, "metric=likes")
    assert await total(music, f"metric=likers&track={track_id('mara', 2)}") == 3


async def test_plays_are_told_by_the_hour_and_by_the_day(tmp_path):
    """Those of private tracks are not, and of unlisted ones for these alone."""
    songs = [uri("mara", "track", number) for number in (2, 2, 3, UNLISTED, UNLISTED, UNLISTED, PRIVATE)]
    async with playing(tmp_path) as music, open_state(music.settings) as state:
        for number, song in enumerate(songs):
            await state.plays.count(song, f"192.0.2.{number}", None)
        await music.add(put("ben", "track", 31, at=50))
        newest = (tmp_path / data_folder.NEWEST_SERIES).readlink().name
        await until(lambda: music.stores.series.version == newest)
        hours = (await music.get("/stats/series?metric=plays&bucket=hour")).json["series"]
        track = f"metric=plays&bucket=hour&track={track_id('mara', 2)}"
        of_track = (await music.get(f"/stats/series?{track}")).json["series"]
        most = (await music.get("/stats/series?metric=plays&bucket=hour&by=track")).json["series"]
        days = (await music.get("/stats/series?metric=plays&by=artist")).json["series"]

    assert [one["total"] for one in hours] == [3]
    assert [one["total"] for one in of_track] == [2]
    assert [(one["subject"], one["total"]) for one in most] == [(str(songs[0]), 2), (str(songs[2]), 1)]
    assert [(one["subject"], one["total"]) for one in days] == [(did("mara"), 3)]


async def test_what_may_not_be_seen_has_no_series(music):
    """As if it did not exist."""
    for question in (f"track={track_id('mara', PRIVATE)}", "track=7", "artist=nobody.example", "tag=nowhere"):
        reply = await music.get(f"/stats/series?{question}")
        assert (reply.status, reply.json["detail"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("by", "subject", "title"),
    [
        ("track", str(uri("mara", "track", 2)), "Song 2"),
        ("artist", did("mara"), "mara.example"),
        ("tag", "ambient", "ambient"),
    ],
)
async def test_those_with_the_most_come_first(music, by, subject, title):
    """With their names, and none without any."""
    found = (await music.get(f"/stats/series?by={by}&limit=2{MARCH}")).json["series"]

    totals = [one["total"] for one in found]
    assert (found[0]["of"], found[0]["subject"], found[0]["title"]) in {
        (by, subject, title),
        *([("tag", "a/b", "a/b")] if by == "tag" else []),
    }
    assert totals == sorted(totals, reverse=True)
    assert 0 not in totals


async def test_buckets_are_whole_and_empty_ones_are_there(music):
    """The week of the songs, and the one before it."""
    span = "from=2026-02-18T12:00:00Z&to=2026-03-01T01:00:00Z"
    reply = await music.get(f"/stats/series?metric=likes&bucket=week&{span}")

    assert reply.json["buckets"] == ["2026-02-16T00:00:00.000Z", "2026-02-23T00:00:00.000Z"]
    assert reply.json["until"] == "2026-03-02T00:00:00.000Z"
    assert reply.json["series"][0]["values"] == [0, 4]


async def test_without_anything_the_last_days_are_told(music):
    """Thirty, with this one."""
    reply = await music.get("/stats/series")

    assert len(reply.json["buckets"]) == len(reply.json["series"][0]["values"]) == 30


async def test_csv_has_a_line_for_each_bucket(music):
    """With the subjects, without titles."""
    url = f"{music.address}/stats/series?metric=likes&by=track&format=csv{MARCH}"
    async with music.client.get(url) as answer:
        kind, text = answer.headers["Content-Type"], await answer.text()
    head, *lines = csv.reader(io.StringIO(text))

    assert kind == "text/csv; charset=utf-8"
    assert head == ["bucket", "of", "subject", "likes"]
    assert lines == [
        ["2026-03-01T00:00:00.000Z", "track", str(uri("mara", "track", 2)), "3"],
        ["2026-03-01T00:00:00.000Z", "track", str(uri("mara", "track", 3)), "1"],
    ]


async def test_answers_are_cached_until_the_counts_change(music):
    """Like those of `/stats`."""
    first = await music.get(f"/stats/series?metric=likes{MARCH}")
    again = await music.get(f"/stats/series?metric=likes{MARCH}", If_None_Match=first.headers["ETag"])

    assert first.headers["Cache-Control"] == (await music.get("/stats")).headers["Cache-Control"]
    assert again.status == 304


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("metric=listeners", "metric"),
        ("bucket=year", "bucket"),
        ("from=yesterday", "from"),
        ("to=2026-02-30", "to"),
        ("from=2026-03-02&to=2026-03-01", "from"),
        ("from=2026-03-02&to=2026-03-02", "from"),
        ("from=2199-01-01", "from"),
        ("from=2023-01-01&to=2026-01-01", "from"),
        ("by=track&limit=20&from=2026-01-01&to=2026-03-01", "from"),
        ("by=track&limit=21", "limit"),
        ("artist=mara.example&tag=ambient", "tag"),
        ("artist=mara.example&by=track", "by"),
        ("metric=likes&bucket=hour", "bucket"),
        ("metric=artists&by=track", "metric"),
        ("metric=artists&artist=mara.example", "metric"),
        ("metric=tracks&by=track", "metric"),
        ("metric=likers&by=tag", "metric"),
        ("metric=tracks&track=7", "metric"),
        ("format=xml", "format"),
    ],
)
async def test_what_cannot_be_counted_is_refused(music, question, field):
    """With one sentence, at the parameter at fault."""
    reply = await music.get(f"/stats/series?{question}")

    assert reply.status == 422
    assert [one["field"] for one in reply.json["errors"]] == [field]


async def test_a_thousand_buckets_are_answered(music):
    """And no more."""
    reply = await music.get("/stats/series?from=2023-07-01&to=2026-03-27")

    assert len(reply.json["buckets"]) == 1000
