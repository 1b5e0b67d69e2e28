"""The open data over HTTP: the manifest, its files, the page, and the questions that analysts ask of them."""

import hashlib
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from indexer.catalog.published.iceberg.follow import follow_exports
from indexer.catalog.published.iceberg.warehouse import Place
from readapi.index.exports import OpenData
from readapi.state.state import open_state
from schemas.api.exports import Manifest
from tests.duckdb_extensions import load_iceberg
from tests.features.engines import warehouse as engines
from tests.indexer.changes import delete, like, put, uri
from tests.indexer.running import until
from tests.promises import documented
from tests.readapi.music import PRIVATE, UNLISTED, Music, playing

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def read_manifest(music: Music) -> Manifest:
    reply = await music.get("/exports/")
    assert reply.status == 200, reply.json
    return Manifest.model_validate(reply.json)


async def test_before_the_first_export_there_is_a_sentence(music: Music) -> None:
    """The page says so as well."""
    reply = await music.get("/exports/")

    assert (reply.status, reply.json["message"]) == (503, "No export has been made yet.")
    assert "No export has been made yet" in (await music.get("/data")).json


async def test_the_files_are_those_of_the_manifest(tmp_path: Path) -> None:
    """Whole, in ranges, by their hash, for any page, to keep; nothing else can be fetched."""
    async with playing(tmp_path) as music:
        music.export()
        await music.add(delete("mara", "track", 1, at=60))
        music.export()
        manifest = await read_manifest(music)

        assert [(export.number, export.kind) for export in manifest.exports] == [(1, "full"), (2, "changes")]
        for file in (file for export in manifest.exports for file in export.files):
            async with music.client.get(f"{music.address}/exports/{file.path}") as answer:
                body = await answer.read()
                assert answer.headers["Content-Type"] == "application/vnd.apache.parquet"
                assert answer.headers["Access-Control-Allow-Origin"] == "*"
                assert "immutable" in answer.headers["Cache-Control"]
                etag = answer.headers["ETag"]
            assert (len(body), hashlib.sha256(body).hexdigest()) == (file.bytes, file.sha256)
            path = f"/exports/{file.path}"
            assert (await music.get(path, If_None_Match=etag)).status == 304
            async with music.client.get(music.address + path, headers={"Range": "bytes=-8"}) as answer:
                assert (answer.status, await answer.read()) == (206, body[-8:])
            assert (await music.get(path, Range=f"bytes={file.bytes}-")).status == 416
            assert (await music.send("HEAD", path)).headers["Content-Length"] == str(file.bytes)
        folder = manifest.exports[0].files[0].path.split("/")[0]
        for path in (
            "manifest.json/tracks.parquet",
            f"{folder}/state.parquet",
            f"{folder}/..%2Fmanifest.json",
        ):
            assert (await music.get(f"/exports/{path}")).status == 404, path


async def test_nothing_hidden_is_in_a_file_or_on_the_page(tmp_path: Path) -> None:
    """Neither at-uris nor titles of tracks that are unlisted or private."""
    async with playing(tmp_path) as music:
        music.export()
        manifest = await read_manifest(music)
        page = (await music.get("/data")).json
        tables = {
            file.table: duckdb.sql(f"from '{music.settings.data_dir}/exports/{file.path}'").to_arrow_table()
            for file in manifest.exports[0].files
        }
    text = page + "".join(str(table.to_pylist()) for table in tables.values())

    assert str(uri("mara", "track", 2)) in text
    assert str(uri("mara", "track", UNLISTED)) not in text
    assert str(uri("mara", "track", PRIVATE)) not in text


async def test_the_page_shows_tables_samples_and_charts(tmp_path: Path) -> None:
    """Its samples run, once the address is that of the file."""
    async with playing(tmp_path) as music:
        music.export()
        manifest = await read_manifest(music)
        page = (await music.get("/data")).json

        for table in manifest.tables:
            assert f"<code>{table.name}</code>" in page
            assert all(column.description in page.replace("&#39;", "'") for column in table.columns)
        assert page.count("<svg") == 3
        assert f"{music.address}/exports/{manifest.exports[0].files[0].path}" in page
        assert len(page.encode()) < 30 << 10


TRACK = uri("mara", "track", 2)
# An analyst's four questions. Each is asked in the same words of Parquet, of Iceberg and of POST /sql.
LIKES_OF_A_TRACK = f"""
    select date_trunc('week', counted_at)::date::varchar as bucket, count(*)::integer as likes
    from likes where track_uri = '{TRACK}' group by bucket order by bucket
"""
GROWING_TAGS = """
    select tag, date_trunc('month', counted_at)::date::varchar as bucket, count(*)::integer as tracks
    from tracks join track_tags on uri = track_uri group by tag, bucket order by tag, bucket
"""
LIKERS = """
    select tracks.did, count(distinct likes.did)::integer as likers
    from likes join tracks on tracks.uri = track_uri group by tracks.did order by likers desc, tracks.did
"""
PLAYS_BY_HOUR = """
    select date_part('hour', hour)::integer as hour_of_day, sum(plays)::integer as plays
    from plays_hourly group by hour_of_day order by hour_of_day
"""


async def series(music: Music, question: str) -> list[tuple[str, str, int]]:
    """Subject, beginning of the bucket and count, of the counts above zero."""
    reply = await music.get(f"/stats/series?{question}")
    assert reply.status == 200, reply.json
    return sorted(
        (one["subject"], begin, count)
        for one in reply.json["series"]
        for begin, count in zip(reply.json["buckets"], one["values"], strict=True)
        if count
    )


async def test_analysts_questions_have_the_same_answers_everywhere(tmp_path: Path) -> None:
    """From Parquet, Iceberg, SQL and series."""
    async with playing(tmp_path, iceberg=True, sql=True) as music, open_state(music.settings) as state:
        for number in range(3):
            await state.plays.count(TRACK, f"192.0.2.{number}", None)
        await music.add(put("ben", "track", 31, at=50, tags=["ambient"]))
        await music.add(like("ida", uri("ben", "track", 31), 32, at=51))
        music.export()
        await until(lambda: music.stores.series.version == (tmp_path / "snapshots/series").readlink().name)
        full = (await read_manifest(music)).exports[0]
        follow_exports(Place(str(tmp_path), None, None))
        told = OpenData(music.settings).require_manifest().iceberg
        assert told is not None

        async def ask(query: str) -> list[tuple[Any, ...]]:
            async with music.client.post(f"{music.address}/sql", json={"query": query}) as answer:
                assert answer.status == 200, await answer.text()
                rows = [tuple(row) for row in (await answer.json())["rows"]]
            assert parquet.execute(query).fetchall() == rows
            assert iceberg.execute(query).fetchall() == rows
            assert rows
            return rows

        with duckdb.connect() as parquet, duckdb.connect() as iceberg:
            load_iceberg(iceberg)
            for con in (parquet, iceberg):
                con.execute("set TimeZone = 'UTC'")
            for file in full.files:
                parquet.execute(f"create view {file.table} as from '{tmp_path}/exports/{file.path}'")
            for table in told.tables:
                metadata = tmp_path / "iceberg" / "warehouse" / table.metadata
                iceberg.execute(f"create view {table.table} as from iceberg_scan('{metadata}')")
            likes, tags = await ask(LIKES_OF_A_TRACK), await ask(GROWING_TAGS)
            likers, hours = await ask(LIKERS), await ask(PLAYS_BY_HOUR)

        year = "from=2026-01-01&to=2026-12-31"
        track = str(TRACK).replace("/", "%2F")
        by_week = await series(music, f"metric=likes&bucket=week&track={track}&{year}")
        assert [(begin[:10], count) for _, begin, count in by_week] == likes
        by_month = await series(music, f"metric=tracks&bucket=month&by=tag&limit=20&{year}")
        assert [(tag, begin[:10], count) for tag, begin, count in by_month] == tags
        now = datetime.now(UTC)
        span = f"from={now - timedelta(days=2):%Y-%m-%d}&to={now + timedelta(days=1):%Y-%m-%d}"
        by_hour = await series(music, f"metric=plays&bucket=hour&{span}")
        assert [(int(begin[11:13]), count) for _, begin, count in by_hour] == hours
        first_likes = await series(music, f"metric=likers&bucket=month&by=artist&limit=20&{year}")
        distinct: Counter[str] = Counter()
        for artist, _, count in first_likes:
            distinct[artist] += count
        assert sorted(distinct.items()) == sorted(likers)


async def test_the_queries_that_are_documented_run(tmp_path: Path) -> None:
    """Over the files of this service."""
    async with playing(tmp_path) as music:
        music.export()
        await music.add(delete("mara", "track", 2, at=60))
        music.export()
        manifest = await read_manifest(music)
    full, changes = ({file.table: file.path for file in export.files} for export in manifest.exports)
    with duckdb.connect() as con:
        con.execute(f"create table likes as from '{tmp_path}/exports/{full['likes']}'")
        before = con.execute("select count(*) from likes").fetchall()
        for block in documented.blocks():
            if block.language != "sql" or block.page == engines.PAGE:
                continue
            text = re.sub(r"'https:\S*/tracks.parquet'", f"'{tmp_path}/exports/{full['tracks']}'", block.text)
            con.execute(text.replace("changes/likes.parquet", f"{tmp_path}/exports/{changes['likes']}"))
        assert con.execute("select count(*) from likes").fetchall() < before


async def test_the_manifest_and_the_page_tell_where_the_iceberg_tables_are(tmp_path: Path) -> None:
    """Their state and their metadata; the folder of the service is nobody's business."""
    async with playing(tmp_path, iceberg=True) as music:
        music.export()
        follow_exports(Place(str(tmp_path), None, None))
        told = (await read_manifest(music)).iceberg
        page = (await music.get("/data")).json

    assert told is not None
    assert (told.warehouse, told.number) == (None, 1)
    for table in told.tables:
        assert (tmp_path / "iceberg" / "warehouse" / table.metadata).is_file()
    assert "in Apache Iceberg on the disk of this service, now of state 1" in page
    assert str(tmp_path) not in page
