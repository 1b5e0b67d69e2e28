"""The catalogue's part of a backup: copies the newest snapshot, and restores a catalogue from a copy.

The search index is not backed up: a restore rebuilds it from the catalogue, so that the two always match.
"""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from indexer import operations
from indexer.catalog.store_errors import explain_errors
from indexer.faults import StoreError
from schemas import data_folder, steps
from schemas.settings import Settings

PATIENCE_SECONDS: Final = 10.0  # how long to wait for the first snapshot, or for one that is being replaced


@dataclass(frozen=True, slots=True)
class Copied:
    """The version of the tables, and each source's cursor and its time."""

    tables: int
    cursors: dict[str, tuple[int, str | None]]


def copy_catalogue(settings: Settings, target: Path) -> Copied | None:
    """Link or copy the newest snapshot to `target`; None without a catalogue. Raises StoreError."""
    current = settings.data_dir / data_folder.NEWEST_SNAPSHOT
    until = time.monotonic() + PATIENCE_SECONDS
    while (settings.data_dir / data_folder.CATALOGUE).exists():
        try:
            _link(current.resolve(strict=True), target)
        except FileNotFoundError:  # none yet, or pruned this moment
            if time.monotonic() > until:
                raise StoreError(f"{current} does not exist yet; start the indexer and try again.") from None
            time.sleep(0.1)
        else:
            return _inspected(target)
    return None


def restore_catalogue(source: Path, settings: Settings, progress: Callable[[int, int], object]) -> None:
    """Put a catalogue into a data folder that has none, and build the search index. Raises StoreError."""
    target = settings.data_dir / data_folder.CATALOGUE
    with explain_errors(target):
        shutil.copyfile(source, target)
        target.chmod(0o600)
    operations.rebuild_search(settings, progress)


def is_newer(tables: int) -> bool:
    """True when only a newer version of this program can use tables of this version."""
    return tables > steps.VERSION


def _link(snapshot: Path, target: Path) -> None:
    with explain_errors(target):
        try:
            os.link(snapshot, target)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, or one without links
            shutil.copyfile(snapshot, target)
            target.chmod(0o600)


def _inspected(snapshot: Path) -> Copied:
    with explain_errors(snapshot, also=duckdb.Error), duckdb.connect(snapshot, read_only=True) as con:
        [(version,)] = con.execute("select value from meta where name = 'schema_version'").fetchall()
        found = con.execute("select source, seq, event_time from cursors order by source").fetchall()
    cursors = {source: (int(seq), None if at is None else f"{at.isoformat()}Z") for source, seq, at in found}
    return Copied(int(version), cursors)
