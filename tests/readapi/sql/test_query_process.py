"""What a statement can do when the check of statements is turned off: still nothing but read the tables."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from readapi.sql import queries

SECRET = "s3cret-of-another-file"
UNCHECKED = """
import sys
from readapi.sql import query_process
query_process.check_statement = lambda *_: None
query_process.main(sys.argv[1], "json")
"""
READING = [
    "from read_csv('{folder}/secret.csv')",
    "from read_text('{folder}/secret.csv')",
    "from read_blob('{folder}/*')",
    "from '{folder}/secret.csv'",
    "from '{folder}/secret.parquet'",
    "from read_parquet('{folder}/secret.parquet')",
    "from parquet_metadata('{folder}/secret.parquet')",
    "from read_json('{folder}/secret.json')",
    "from sniff_csv('{folder}/secret.csv')",
    "from glob('{folder}/*')",
    "from read_text('/proc/self/environ')",
    "from read_text('/proc/self/maps')",
    "from read_text('/etc/passwd')",
    "from read_text('published.duckdb')",
    "attach '{folder}/other.duckdb' as other",
    "attach '{folder}/other.duckdb' as other; from other.secret",
    "from query('from read_text(''{folder}/secret.csv'')')",
    "from query_table('{folder}/secret.csv')",
    "from read_duckdb('{folder}/other.duckdb', table_name='secret')",
    "select getenv('FMSVC_SECRET_KEYS')",
    "from duckdb_secrets()",
    "from read_csv('http://127.0.0.1:9/x')",
    "from read_csv('s3://bucket/x')",
    "from sys",
    "from orjson",
    "import database '{folder}'",
]
WRITING = [
    "copy tracks to '{folder}/out.csv'",
    "copy (select 1) to '/tmp/fmsvc-sql-out'",
    "copy tracks to '/dev/stdout'",
    "export database '{folder}/out'",
    "explain analyze copy tracks to '{folder}/out.csv'",
    "insert into tracks (uri) values ('x')",
    "delete from tracks",
    "drop table tracks",
    "create table mine (n integer)",
    "attach '{folder}/new.duckdb' as new",
    "checkpoint",
    "install httpfs",
    "load '{folder}/other.duckdb'",
    "set enable_external_access = true",
    "set disabled_filesystems = ''",
    "set temp_directory = '{folder}'",
    "set memory_limit = '100GB'",
    "set threads = 64",
    "reset lock_configuration",
    "pragma enable_profiling",
    "pragma profiling_output = '{folder}/profile.json'",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tables, beside files that are nobody's business."""
    made = tmp_path_factory.mktemp("published")
    with duckdb.connect(made / "published.duckdb") as con:
        con.execute("create table tracks (uri varchar); insert into tracks values ('at://a'), ('at://b')")
    with duckdb.connect(made / "other.duckdb") as con:
        con.execute(f"create table secret as select '{SECRET}' as secret")
        con.execute(f"copy secret to '{made}/secret.parquet'")
    (made / "secret.csv").write_text(f"secret\n{SECRET}\n")
    (made / "secret.json").write_text(f'{{"secret": "{SECRET}"}}')
    for path in (made, *made.iterdir()):
        path.chmod(0o777)  # only the sandbox stands in the way
    return made


def run(folder: Path, statement: str) -> bytes:
    """What the process prints."""
    done = subprocess.run(
        [sys.executable, "-c", UNCHECKED, str(folder / "published.duckdb")],
        input=statement.format(folder=folder).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=queries._ENVIRONMENT,
        check=False,
    )
    return done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_without_the_check_the_tables_can_be_read(folder: Path) -> None:
    """So that the other tests here mean something."""
    assert b'[["at://a"],["at://b"]]' in run(folder, "from tracks order by uri")


@pytest.mark.parametrize("statement", READING)
def test_no_other_file_can_be_read(folder: Path, statement: str) -> None:
    """Neither beside the tables nor of the system, and nothing of the environment."""
    said = run(folder, statement)

    assert SECRET.encode() not in said
    assert not any(words in said for words in (b"root:", b"7f", os.environ["PATH"].encode())), said[:300]
    assert said.startswith(b'{"error"') or b'"rows":[]' in said or b'"rows":[[null]]' in said


@pytest.mark.parametrize("statement", WRITING)
def test_nothing_can_be_written_or_loosened(folder: Path, statement: str) -> None:
    """The files stay as they were, and no other appears."""
    before = contents(folder)

    run(folder, statement)

    assert contents(folder) == before
    assert not Path("/tmp/fmsvc-sql-out").exists()
