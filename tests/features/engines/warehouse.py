"""Iceberg tables of many likes, of exports without a catalogue, and the programs that ask them."""

import re
from pathlib import Path
from typing import Final

import duckdb

from indexer.catalog.published.iceberg.follow import follow_exports
from indexer.catalog.published.iceberg.warehouse import Place
from schemas import data_folder, exports
from schemas.api.exports import Export, ExportFile, IcebergTables, Manifest
from tests.promises import documented

DATA = "/var/lib/fmsvc"
PAGE: Final = "docs/engines.md"
NOON = "2026-03-02T12:00:00.000Z"
TRACKS, LIKES, ARTISTS = 5_000, 100_000, 200
_RECORD = "'cid' || n as cid, 'rkey' || n as rkey"
_ROWS = {
    "artists": f"select 'did:plc:' || n as did, 'artist' || n || '.example' as handle "
    f"from range({ARTISTS}) r(n)",
    "tracks": f"select 'track' || n as uri, {_RECORD}, 'did:plc:' || (n * n % {ARTISTS}) as did "
    f"from range({TRACKS}) r(n)",
    "likes": f"select 'like' || n as uri, {_RECORD}, 'did:plc:liker' || hash(n) % 5000 as did, "
    f"'track' || (hash(n * 7) % {TRACKS}) as track_uri from range({LIKES}) r(n)",
}


def make_tables(folder: Path) -> None:
    """Fill the data folder: one export of all rows, then one that takes every tenth like away."""
    made = []
    with duckdb.connect(config={"threads": 1}) as con:
        for number, kind in ((1, "full"), (2, "changes")):
            export = folder / data_folder.EXPORTS / str(number)
            export.mkdir(parents=True)
            for table in exports.TABLES if kind == "full" else exports.TABLES[5:6]:
                _write(con, table, kind, export / f"{table.name}.parquet")
            made.append(_describe(number, kind, sorted(export.iterdir())))
    about = Manifest(service="https://music.example", license=None, contact=None, tables=[], exports=made)
    (folder / data_folder.EXPORT_MANIFEST).write_text(about.model_dump_json())
    follow_exports(Place(str(folder), None, None))


def program(heading: str, folder: Path) -> str:
    """The program under a heading of the page, for tables in this folder."""
    text = (documented.ROOT / PAGE).read_text().split(f"\n## {heading}\n", 1)[1]
    found = re.search(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    newest = IcebergTables.model_validate_json((folder / data_folder.ICEBERG_TABLES).read_bytes())
    shown = found[1]
    for table in newest.tables:
        where = f"{folder}/{data_folder.ICEBERG}/warehouse/{table.metadata}"
        shown = shown.replace(f"{DATA}/{table.table}.metadata.json", where)
    return shown.replace(DATA, str(folder))


def wanted(folder: Path) -> list[tuple[str, int]]:
    """The answer, from the Parquet files."""
    full = {
        name: f"'{folder}/{data_folder.EXPORTS}/1/{name}.parquet'" for name in ("likes", "tracks", "artists")
    }
    gone = f"'{folder}/{data_folder.EXPORTS}/2/likes.parquet'"
    return duckdb.sql(
        f"""
        select artists.handle, count(distinct likes.did) as likers
        from (from {full["likes"]} where uri not in (select uri from {gone})) as likes
        join {full["tracks"]} as tracks on tracks.uri = likes.track_uri
        join {full["artists"]} as artists on artists.did = tracks.did
        group by artists.handle order by likers desc, artists.handle limit 10
        """
    ).fetchall()


def _write(con: duckdb.DuckDBPyConnection, table: exports.Table, kind: str, path: Path) -> None:
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    con.execute(f"create or replace temp table written ({columns})")
    if table.name in _ROWS:
        con.execute(f"insert into written by name {_ROWS[table.name]}")
    rows = "from written" if kind == "full" else (
        "select 'delete' as change, uri from written where ends_with(uri, '7')"
    )  # fmt: skip
    con.execute(f"copy ({rows}) to '{path}' (format parquet)")


def _describe(number: int, kind: str, paths: list[Path]) -> Export:
    files = [
        ExportFile(
            table=path.stem, path=f"{number}/{path.name}", rows=0, bytes=path.stat().st_size, sha256="0" * 64
        )
        for path in paths
    ]
    return Export.model_validate(
        {
            "kind": kind,
            "number": number,
            "schema_version": exports.VERSION,
            "snapshot_at": NOON,
            "made_at": NOON,
            "positions": [],
            "files": files,
        }
    )
