"""A catalogue of every earlier version is carried over in place, and answers like a new one.

MIGRATION_KILLS sets how often that is cut short by a kill (2; make test-long 20).
"""

import os
import random
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import duckdb
import pytest

from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from indexer.search.index import SearchIndex
from schemas import data_folder, steps
from schemas.stored import Stored
from tests.indexer import old_catalogues
from tests.indexer.changes import contents, did, like, put, settings, uri, write
from tests.indexer.killing import children
from tests.indexer.search.test_index import BASE
from tests.indexer.search.test_index import contents as documents

ROUNDS = int(os.environ.get("MIGRATION_KILLS", "2"))
KEPT = range(2, steps.VERSION)  # nobody ever had a catalogue of the first version


COLUMNS = "select * from duckdb_columns() where not internal order by table_name, column_index"
MADE = "select table_name, column_index, column_name, data_type, is_nullable, column_default from columns"


def shape(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Every column of every table and view, and what keeps rows out."""
    columns = con.execute(f"with columns as ({COLUMNS}) {MADE}").fetchall()
    views = con.execute(
        "select view_name, sql from duckdb_views() where not internal order by all"
    ).fetchall()
    keys = con.execute(
        "select table_name, constraint_type, constraint_column_names from duckdb_constraints() order by all"
    ).fetchall()
    return [*columns, *views, *keys]


def everything(writer: Writer, folder: Path) -> list[Any]:
    """What the tables look like and hold, and every search document made of it."""
    index = SearchIndex.open(folder / data_folder.SEARCH, BASE)
    with writer.reader() as con:
        list(index.fill(con))
        index.close()
        found = [shape(con), contents(con), writer.cursor(old_catalogues.RELAY), writer.op]
    # Without the proofs of tracks, which say when each was verified.
    made = documents(folder / data_folder.SEARCH).items()
    return [*found, {name: one.card if isinstance(one, Stored) else one for name, one in made}]


@pytest.mark.parametrize("version", KEPT)
@pytest.mark.slow
def test_an_older_catalogue_answers_like_a_new_one(version: int, tmp_path: Path) -> None:
    """The same tables, rows and search documents, and the same again after more was written to both."""
    old_catalogues.unpack(version, tmp_path / "old")

    with Writer.open(settings(tmp_path / "old")) as old, Writer.open(settings(tmp_path / "new")) as new:
        old_catalogues.fill(new)
        assert everything(old, tmp_path / "old") == everything(new, tmp_path / "new")
        for writer in (old, new):
            write(writer, put("eve", "track", at=30), like("ana", uri("eve", "track"), at=31))
            assert did("eve") in writer.tracked
        assert contents(old.reader()) == contents(new.reader())


def test_every_earlier_version_is_kept_for_these_tests() -> None:
    """`python -m tests.indexer.old_catalogues` keeps one, before a step leads away from it."""
    assert [version for version in KEPT if not old_catalogues.path(version).exists()] == []


def carry_over(folder: Path, ready: Event) -> None:
    """Open the catalogue of a folder, for a child that is killed meanwhile."""
    ready.set()
    Writer.open(settings(folder)).close()


@pytest.mark.parametrize("version", KEPT)
@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_old_catalogue_or_the_new(version: int, tmp_path: Path) -> None:
    """Whichever it was, the next start has all of it."""
    with Writer.open(settings(tmp_path / "new")) as new:
        old_catalogues.fill(new)
        expected = contents(new.reader())
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        old_catalogues.unpack(version, folder)
        ready = children.Event()
        child = children.Process(target=carry_over, args=(folder, ready))
        child.start()
        assert ready.wait(60)
        time.sleep(random.uniform(0, 0.08))
        child.kill()
        child.join()

        with Writer.open(settings(folder)) as writer:
            assert contents(writer.reader()) == expected


def test_a_catalogue_that_lost_its_cursor_to_a_full_disk_asks_for_every_repo_again(tmp_path: Path) -> None:
    """What else it lost is not known; nothing refuses to write the cursor any more."""
    old_catalogues.unpack(2, tmp_path)
    with duckdb.connect(tmp_path / data_folder.CATALOGUE) as con:
        con.execute("delete from cursors")

    with Writer.open(settings(tmp_path)) as writer:
        repos, listings = list(writer.repos()), writer.listings()

    assert {repo.did: repo.mark.state for repo in repos}[did("ana")] == "desynchronized"
    assert not any(repo.mark.state == "active" for repo in repos)
    assert all(repo.mark.fetch for repo in repos if repo.mark.rev)
    assert listings == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("update meta set value = '999' where name = 'schema_version'", "made by a newer version"),
        ("update meta set value = '1' where name = 'schema_version'", "made by an older version"),
        ("update meta set value = 'two' where name = 'schema_version'", "'two' is no version of its tables"),
        ("delete from meta", "'' is no version of its tables"),
        ("alter table meta rename value to worth", "the table meta has other columns"),
        ("alter table tracks drop title", "the table tracks has no column title"),
        ("drop table outbox", "the table outbox has no column key"),
        ("drop table meta", "was not made by this program"),
    ],
)
@pytest.mark.slow
def test_foreign_and_damaged_tables_are_refused_with_one_sentence(
    tmp_path: Path, damage: str, said: str
) -> None:
    """It says what to move away, and that nothing else may go; the file stays as it is."""
    Writer.open(settings(tmp_path)).close()
    with duckdb.connect(tmp_path / data_folder.CATALOGUE) as con:
        con.execute(damage)
    before = (tmp_path / data_folder.CATALOGUE).read_bytes()

    with pytest.raises(StoreError, match=said) as refused:
        Writer.open(settings(tmp_path))

    assert f"move catalog.duckdb*, search and snapshots out of {tmp_path}" in str(refused.value)
    assert "Leave everything else there" in str(refused.value)
    assert (tmp_path / data_folder.CATALOGUE).read_bytes() == before
