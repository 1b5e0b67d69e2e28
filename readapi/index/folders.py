"""The search index as a whole: read-only, opened by every worker, refreshed as the indexer writes.

Answers come from the state that `refresh` or `follow` saw last.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from tantivy import DocAddress, Query, Searcher

from readapi.errors import IndexNotReady
from readapi.index.folder import IndexFolder, State
from schemas import data_folder, search_index

ABSENT = "The search index does not exist yet."
RETRY_SECONDS = 5  # the Retry-After while an index is rebuilt
FOLLOW_SECONDS = 0.025  # between checks for new commits


class IndexFolders:
    """All indexes, each in its newest state. `generation` counts up whenever answers may differ."""

    def __init__(self, data_dir: Path) -> None:
        folder = data_dir / data_folder.SEARCH
        self.catalog = IndexFolder(folder / search_index.CATALOG_FOLDER, search_index.catalog_schema())
        self.words = IndexFolder(folder / search_index.WORDS_FOLDER, search_index.words_schema())
        self.social = IndexFolder(folder / search_index.SOCIAL_FOLDER, search_index.social_schema())
        self.generation = 0
        self.is_open = False  # whether the indexes can be read
        self.absence = ABSENT  # why they cannot be read, in a sentence
        self._progress = (
            folder.with_name(folder.name + search_index.FRESH_SUFFIX) / search_index.PROGRESS_FILE
        )
        self._folders = self.catalog, self.words, self.social
        self._shown = asyncio.Event()  # set, and another put in its place, whenever answers may differ

    @property
    def op(self) -> int:
        """The outbox entry up to which everything can be found: the catalog index is committed last."""
        return self.catalog.op

    @property
    def documents(self) -> int:
        """Documents in all indexes."""
        return sum(folder.searcher.num_docs for folder in self._folders if folder.searcher)

    def refresh(self) -> None:
        """Read what was committed."""
        self._show(self._read())

    async def follow(self) -> None:
        """Read what was committed, on a thread, so that no request waits. Costs six stats if nothing was."""
        if any(folder.is_stale() for folder in self._folders):
            self._show(await asyncio.to_thread(self._read))

    async def reached(self, op: int) -> None:
        """Wait until everything up to an outbox entry can be found."""
        while self.op < op:
            await self._shown.wait()

    def require(self) -> Searcher:
        """The catalog's searcher. Raises IndexNotReady when there is none: an empty answer would be wrong."""
        if self.catalog.searcher is None or not self.is_open:
            raise IndexNotReady(self.absence, retry_seconds=RETRY_SECONDS if self.absence != ABSENT else 1)
        return self.catalog.searcher

    def addresses(self, query: Query, limit: int, folder: IndexFolder | None = None) -> list[DocAddress]:
        """The addresses of matching documents, in no particular order."""
        self.require()
        return [address for _, address in (folder or self.catalog).search(query, max(limit, 1)).hits]

    def _read(self) -> list[tuple[IndexFolder, State | None]]:
        """The catalog index first: what was committed before it is then in the others."""
        return [(folder, folder.read()) for folder in self._folders if folder.is_stale()]

    def _show(self, found: Iterable[tuple[IndexFolder, State | None]]) -> None:
        changed = [folder.show(state) for folder, state in found if state is not None]
        self.is_open = all(folder.searcher for folder in self._folders)
        if not self.is_open:
            self.absence = self._why_absent()
        if any(changed):
            self.generation += 1
            self._shown.set()
            self._shown = asyncio.Event()

    def _why_absent(self) -> str:
        try:
            return self._progress.read_text()
        except OSError:
            return next((folder.refusal for folder in self._folders if folder.refusal), ABSENT)
