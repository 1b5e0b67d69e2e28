"""Rebuilds the search index from the catalogue in a second folder, which replaces the first when complete."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import duckdb
import structlog

from indexer.search.folder import REBUILD_HEAP_BYTES, explain_errors
from indexer.search.index import SearchIndex, put_in_place, replacement_folders
from schemas.search_index import PROGRESS_FILE

LOGGED_PERCENT: Final = 10  # between two lines in the log

log = structlog.get_logger()


class Rebuild:
    """Call `step` until it returns False, then `finish`.

    The catalogue may be written meanwhile, but its outbox not pruned. After a crash the next start begins
    again.
    """

    def __init__(self, path: Path, base_url: str) -> None:
        remove_leftovers(path)
        self.done = self.total = 0
        self._path = path
        self._base_url = base_url
        self._index = SearchIndex.open(replacement_folders(path)[0], base_url, REBUILD_HEAP_BYTES)
        self._filling: Iterator[tuple[int, int]] | None = None
        self._logged = -LOGGED_PERCENT
        self._tell()

    def step(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Write some more documents. Returns whether there may be more. Raises StoreError."""
        self._filling = self._filling or self._index.fill(con)
        made = next(self._filling, None)
        if made is not None:
            self.done, self.total = made
            self._tell()
        return made is not None

    def finish(self) -> SearchIndex:
        """Put the new index in place, remove the old one, and open the new one. Raises StoreError."""
        put_in_place(self._path)
        (self._path / PROGRESS_FILE).unlink(missing_ok=True)
        remove_leftovers(self._path)
        log.info("rebuilt the search index", things=self.total)
        return SearchIndex.open(self._path, self._base_url)

    def close(self) -> None:
        """Abandon the rebuild. Its folder is removed by the next one."""
        self._index.close()

    def _tell(self) -> None:
        """Report the progress: to the API, which waits for the index, and in the log."""
        percent = 100 * self.done // max(self.total, 1)
        sentence = f"The search index is being rebuilt from the catalogue: {percent} % is done."
        file = replacement_folders(self._path)[0] / PROGRESS_FILE
        with explain_errors(self._path):
            partial = file.with_name(f"{file.name}.partial")
            partial.write_text(sentence)
            partial.replace(file)
        if percent >= self._logged + LOGGED_PERCENT:
            self._logged = percent
            log.info("rebuilding the search index", percent=percent, done=self.done, of=self.total)


def rebuild_index(
    con: duckdb.DuckDBPyConnection, path: Path, base_url: str, progress: Callable[[int, int], object]
) -> None:
    """Rebuild the index from the catalogue. Processes that read the old one switch over by themselves."""
    making = Rebuild(path, base_url)
    while making.step(con):
        progress(making.done, making.total)
    making.finish().close()


def remove_leftovers(path: Path) -> None:
    """Remove what an earlier rebuild left: a partial index, or an index that was replaced."""
    for folder in replacement_folders(path):
        shutil.rmtree(folder, ignore_errors=True)
