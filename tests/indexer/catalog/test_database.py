"""The catalogue's file is opened by one process, or refused with a sentence that says what to do."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from indexer.catalog.database import FEW, Database, join_keys, require_catalogue
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from schemas import data_folder
from tests.indexer.changes import (
    settings,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A new file without rows."""
    opened = Database.open(settings(tmp_path))
    yield opened
    opened.close()


def test_a_second_indexer_is_told_who_has_the_file(writer: Writer, tmp_path: Path) -> None:
    """One process writes; another one is refused with a sentence that names it."""
    program = (
        "import pathlib, sys\n"
        "from indexer.catalog.writing.writer import Writer\n"
        "from schemas.settings import Settings\n"
        "try:\n    Writer.open(Settings(data_dir=pathlib.Path(sys.argv[1])))\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout

    assert said.startswith("StoreError ")
    assert "in use by another indexer" in said


@pytest.mark.parametrize("damage", [b"", b"not a database " * 1000, None])
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path, damage: bytes | None) -> None:
    """Empty, foreign or cut off: never a traceback, never an empty index in its place."""
    Writer.open(settings(tmp_path)).close()
    file = tmp_path / data_folder.CATALOGUE
    file.write_bytes(file.read_bytes()[:6000] if damage is None else damage)

    with pytest.raises(StoreError, match=r"move .* out of .* and start again"):
        Writer.open(settings(tmp_path))


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """Going back is not possible, and the file is left as it is."""
    Writer.open(settings(tmp_path)).close()
    with duckdb.connect(tmp_path / data_folder.CATALOGUE) as con:
        con.execute("update meta set value = '999' where name = 'schema_version'")

    with pytest.raises(StoreError, match="made by a newer version"):
        Writer.open(settings(tmp_path))


def test_a_crash_while_the_file_is_made_leaves_no_half_of_it(tmp_path: Path) -> None:
    """It takes its name when it is whole; a leftover is made anew."""
    (tmp_path / f"{data_folder.CATALOGUE}.partial").write_bytes(b"half")

    Writer.open(settings(tmp_path)).close()

    assert {path.name for path in tmp_path.iterdir()} == {data_folder.CATALOGUE, data_folder.CHANGES}


def test_a_file_that_is_not_there_yet_is_named_before_anything_is_created(tmp_path: Path) -> None:
    """Commands that only read a catalogue ask first."""
    with pytest.raises(StoreError, match="holds no catalogue"):
        require_catalogue(settings(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_rows_in_bulk_may_leave_out_columns(database: Database) -> None:
    """Those are null; a table's columns are known in order."""
    least = {"status": "active", "stale": False}
    database.insert(
        "accounts", [{"did": "did:plc:a", "handle": "a.test"} | least, {"did": "did:plc:b"} | least]
    )

    assert database.rows("select did, handle from accounts where did > ? order by did", ["did:plc:"]) == [
        ("did:plc:a", "a.test"),
        ("did:plc:b", None),
    ]
    assert database.columns("meta") == ["name", "value"]


def test_a_transaction_that_was_rolled_back_leaves_the_file_usable(database: Database) -> None:
    database.con.execute("begin")
    database.insert("meta", [{"name": "gone", "value": "1"}])
    database.end_transaction("rollback")

    assert database.rows("from meta where name = 'gone'") == []
    assert not database.given_up


def test_after_an_error_of_the_disk_nothing_more_is_written(database: Database) -> None:
    """Its memory may differ from what is committed: the next process reads the file and its log."""
    with pytest.raises(StoreError, match="No room is left"), database.guarded():
        raise OSError(28, "No space left on device")

    assert database.given_up
    with pytest.raises(StoreError, match="No room is left"), database.guarded():
        pytest.fail("a change was let through")


def test_a_bug_of_ours_is_not_blamed_on_the_disk(database: Database) -> None:
    """It passes unchanged, and the file is not given up for it."""
    with pytest.raises(KeyError), database.guarded():
        raise KeyError("bug")

    assert not database.given_up


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1])
def test_any_number_of_keys_fits_into_a_query(database: Database, count: int) -> None:
    """A few as literals, many as one list."""
    found = database.rows(f"select count(*) from range(1000) where range in ({join_keys(range(count))})")

    assert found == [(count,)]


def test_a_bound_value_searches_no_folder_for_a_module(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB asks for pandas each time; where it is not installed, that took as long as the statement."""
    searched: list[str] = []

    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            searched.append(name)

    database.rows("select ?, ?", (7, "seven"))
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])

    assert database.rows("select ?, ?", (8, "eight")) == [(8, "eight")]
    assert not searched
