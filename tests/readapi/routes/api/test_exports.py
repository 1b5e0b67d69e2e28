"""The open data over HTTP: the manifest, its files, the page, and the questions that analysts ask of them."""

import asyncio
import hashlib
import html
import re
import shlex
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from indexer.catalog.published.iceberg.follow import follow_exports
from indexer.catalog.published.iceberg.warehouse import Place
from readapi.state.state import open_state
from schemas.api.exports import Manifest
from schemas.ids import record_id
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


@pytest.mark.slow
async def test_the_page_shows_tables_samples_and_charts(tmp_path: Path) -> None:
    """The lines to copy run: those for DuckDB once the address is that of the file, that for SQL as it is."""
    async with playing(tmp_path, sql=True) as music:
        music.export()
        manifest = await read_manifest(music)
        page = (await music.get("/data")).json
        lines = [
            html.unescape(line)
            for line in re.findall(r'<pre class="sample".*?<code>(.*?)</code>', page, re.DOTALL)
        ]
        duckdb.sql(lines[0].replace(f"{music.address}/exports/", f"{tmp_path}/exports/")).fetchall()
        _, url, _, body = shlex.split(lines[-1])
        async with music.client.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
            assert (await answer.text()).startswith("tag,tracks"), await answer.text()

        for table in manifest.tables:
            assert f"<code>{table.name}</code>" in page
            assert all(column.description in page.replace("&#39;", "'") for column in table.columns)
        assert page.count("<svg") == 3
        assert f"{music.address}/exports/{manifest.exports[0].files[0].path}" in page
        assert len(page.encode()) < 30 << 10


PAGE = "docs/questions.md"
TRACK = uri("mara", "track", 2)
PRESENT = "2026-03-15T12:00:00Z"  # in the month in which most was written


def questions() -> list[str]:
    """An analyst's four questions, as the page has them, for Parquet, Iceberg and POST /sql alike."""
    number = str(record_id(str(TRACK)))
    texts = [block.text for block in documented.blocks() if (block.page, block.language) == (PAGE, "sql")]
    return [text.replace("{id}", number).replace("now()", f"timestamptz '{PRESENT}'") for text in texts]


def requests() -> list[str]:
    """What the page asks of the series, for the same four questions."""
    first = datetime.now(UTC) - timedelta(days=1)
    chosen = {
        "{id}": str(record_id(str(TRACK))),
        "{month_before}": "2026-02-01",
        "{first_day}": f"{first:%Y-%m-%d}",
        "{end}": f"{first + timedelta(days=41):%Y-%m-%d}",
    }
    found = []
    for block in documented.blocks():
        if (block.page, block.language) == (PAGE, "sh"):
            (command,) = documented.commands(block.text)
            found.append(shlex.split(command.text)[-1].removeprefix("http://127.0.0.1:8000"))
    return [re.sub(r"\{\w+\}", lambda name: chosen[name[0]], path) for path in found]


def programs() -> list[str]:
    """The programs that open Parquet files and Iceberg tables, as the page has them."""
    return [block.text for block in documented.blocks() if (block.page, block.language) == (PAGE, "python")]


def open_iceberg(folder: Path) -> duckdb.DuckDBPyConnection:
    """The tables, by the program of the page; its extensions are those of the tests."""
    text = programs()[1].replace("/var/lib/fmsvc", str(folder))
    text = text.replace('con.execute("install avro; install iceberg; load avro; load iceberg")', "load(con)")
    names: dict[str, Any] = {"load": load_iceberg}
    exec(text, names)  # our own page
    opened: duckdb.DuckDBPyConnection = names["con"]
    return opened


async def series(music: Music, request: str) -> list[tuple[str, str, int]]:
    """Subject, beginning of the bucket and count, of the counts above zero."""
    reply = await music.get(request)
    assert reply.status == 200, reply.json
    return sorted(
        (one["subject"], begin, count)
        for one in reply.json["series"]
        for begin, count in zip(reply.json["buckets"], one["values"], strict=True)
        if count
    )


@pytest.mark.slow
async def test_analysts_questions_have_the_same_answers_everywhere(tmp_path: Path) -> None:
    """From Parquet, Iceberg, SQL and series; what an unlisted track has is in none of them."""
    unlisted = uri("mara", "track", UNLISTED)
    async with playing(tmp_path, iceberg=True, sql=True) as music, open_state(music.settings) as state:
        for number in range(3):
            await state.plays.count(TRACK, f"192.0.2.{number}", None)
        await music.add(put("ben", "track", 31, at=50, tags=["ambient"]))
        await music.add(like("ida", uri("ben", "track", 31), 32, at=51))
        await state.plays.count(unlisted, "192.0.2.9", None)
        await music.add(like("zoe", unlisted, 33, at=52))
        music.export()
        await until(lambda: music.stores.series.version == (tmp_path / "snapshots/series").readlink().name)
        full = (await read_manifest(music)).exports[0]
        follow_exports(Place(str(tmp_path), None, None))

        async def ask(query: str) -> list[tuple[Any, ...]]:
            async with music.client.post(f"{music.address}/sql", json={"query": query}) as answer:
                assert answer.status == 200, await answer.text()
                rows = [tuple(row) for row in (await answer.json())["rows"]]
            assert rows_of(parquet, query) == rows
            assert rows_of(iceberg, query) == rows
            assert rows
            return rows

        with duckdb.connect() as parquet, open_iceberg(tmp_path) as iceberg:
            parquet.execute("set TimeZone = 'UTC'")
            for file in full.files:
                parquet.execute(f"create view {file.table} as from '{tmp_path}/exports/{file.path}'")
            likes, tags, likers, hours = [await ask(query) for query in questions()]

        of_likes, of_tags, of_likers, of_plays = requests()
        by_week = await series(music, of_likes)
        assert [(begin[:10], count) for _, begin, count in by_week] == likes
        by_month = await series(music, f"{of_tags}&to={PRESENT}")
        in_march = {tag: count for tag, begin, count in by_month if begin.startswith("2026-03")}
        assert {tag: this_month for tag, this_month, _ in tags} == in_march
        distinct: Counter[str] = Counter()
        for artist, _, count in await series(music, of_likers):
            distinct[artist] += count
        assert distinct == {artist: count for artist, _, count in likers}
        by_hour: Counter[int] = Counter()
        for _, begin, count in await series(music, of_plays):
            by_hour[int(begin[11:13])] += count
        assert sorted(by_hour.items()) == hours


def rows_of(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """The rows as JSON has them."""
    rows = con.execute(query).fetchall()
    return [tuple(str(value) if isinstance(value, date) else value for value in row) for row in rows]


@pytest.mark.slow
async def test_the_program_that_fetches_the_files_runs(tmp_path: Path) -> None:
    """And answers with the changes since the full export, from nothing but the service's address."""
    program, _ = programs()
    async with playing(tmp_path / "data") as music:
        music.export()
        await music.add(delete("mara", "track", 1, at=60))
        await music.add(like("ida", TRACK, 33, at=61))
        music.export()
        likes = (await music.get(f"/tracks/{record_id(str(TRACK))}")).json["like_count"]
        kinds = [export.kind for export in (await read_manifest(music)).exports]
        program = program.replace("http://127.0.0.1:8000", music.address)
        ask = [f"assert sum(likes for _, likes in con.execute({questions()[0]!r}).fetchall()) == {likes}"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "\n".join([program, *ask]), cwd=tmp_path, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()

    assert process.returncode == 0
    assert "tracks" in printed.decode()
    assert kinds == ["full", "changes"]


@pytest.mark.slow
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
            if block.language != "sql" or block.page in (engines.PAGE, PAGE):
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
