"""Outbox -> Tantivy: the search index follows the catalogue, with a watermark of its own.

A step replaces the stale documents, and the watermark with them, in one commit of each index that changes.
The social index is committed on another thread while the other documents are rendered, since a commit mostly
waits for the disk: until the step ends, readers may find its likes and comments while tracks show former
counts. A large step renders for long, so its commit begins after that. The catalog index is committed last,
at every step: its watermark is that of all three. After a crash the same entries are read again; rendering
them again gives the same documents.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

import duckdb

from indexer.faults import StoreError
from indexer.search.documents import artist
from indexer.search.documents.artist import CataloguedWorks
from indexer.search.documents.fields import Documents, Fields
from indexer.search.folder import HEAP_BYTES, REBUILD, IndexFolder, explain_errors
from indexer.search.merge_threads import lower_merge_priority
from indexer.search.render import Refs, Rendering
from indexer.search.works import IndexedWorks, committed_tracks
from schemas import search_index
from schemas.ids import record_id
from schemas.search_index import COUNT_SHIFT, kind_id, round_count
from schemas.stored import Card

STEP_ENTRIES: Final = 50_000  # of the outbox, rendered and committed together: fewer, larger segments
BESIDE_ENTRIES: Final = 1000  # of a step whose likes and comments are committed while the rest is rendered


class Everything(NamedTuple):
    """The query of all that has documents of a kind, and how many are rendered at a time.

    Each time costs a scan of the tables' keys, so there are as many at a time as memory has room for.
    """

    query: str
    at_once: int


# In an order that keeps an artist's documents together: the rows that they share are then read once.
EVERYTHING: Final = {
    "tracks": Everything("select key from tracks where state in ('live', 'withheld') order by did", 8000),
    "lists": Everything("select key from lists where state = 'live' order by did", 4000),
    "artists": Everything("select did from accounts order by did", 16_000),
    "tags": Everything("select distinct tag from track_tags order by tag", 16_000),
    "likes": Everything("select distinct pair from likes where state = 'live'", 40_000),
    "comments": Everything("select key from comments where state = 'live'", 16_000),
}


class SearchIndex:
    """The writing side of the three indexes. Open it once; use it on one thread."""

    def __init__(self, folders: Sequence[IndexFolder], path: Path, base_url: str) -> None:
        self._folders = folders
        self._catalog, self._words, self._social = folders
        self._path = path
        self._base_url = base_url
        self._compared = False
        self._has_lowered = False
        self._beside = ThreadPoolExecutor(1, "committing")
        self.step_entries = STEP_ENTRIES

    @classmethod
    def open(cls, path: Path, base_url: str, heap_bytes: int = HEAP_BYTES) -> Self:
        """Open the indexes in this folder, creating them if there are none. Raises StoreError, or OlderIndex.

        `heap_bytes`: of documents of each index, before a segment is written.
        `base_url` is the service's own origin: audio at its URLs is identified by the hash in them. It is not
        stored.
        """
        _finish_change(path)
        folders: list[IndexFolder] = []
        try:
            for name, schema in search_index.search_schemas().items():
                folders.append(IndexFolder.open(path / name, schema, heap_bytes))
        except BaseException:
            for folder in folders:
                folder.close()
            raise
        return cls(folders, path, base_url)

    @property
    def watermark(self) -> int:
        """The outbox entry up to which all three indexes are committed."""
        return self._catalog.watermark

    def follow(self, con: duckdb.DuckDBPyConnection) -> int:
        """One step along the outbox. Returns the watermark; call again while it is behind.

        Raises StoreError when the index cannot be written, or has missed what the outbox no longer holds.
        """
        with _reading(con):
            if not self._compared:
                self._compare(con)
            entries = con.execute(
                "select op, kind, key, name from outbox where op > ? order by op limit ?",
                [self.watermark, self.step_entries],
            ).fetchall()
            reactions = self._replace(con, entries) if entries else None
        if reactions is not None:
            self._commit(entries[-1][0], reactions)
            if not self._has_lowered:
                lower_merge_priority()  # not sooner: a thread has its name when it begins to run
                self._has_lowered = True
        return self.watermark

    def fill(self, con: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int]]:
        """Write all documents into an empty index, some at each step; then close it.

        Yields how many things of how many are written.
        The catalogue may be written between two steps: those changes are in the outbox after the watermark,
        which is the last outbox entry at the first step, so that following it replaces their documents.
        """
        op = _outbox_meta(con).get("outbox_op", 0)
        count = " + ".join(f"(select count(*) from ({query}))" for query, _ in EVERYTHING.values())
        (total,) = con.execute(f"select {count}").fetchone() or (0,)
        done = 0
        for kind, (query, at_once) in EVERYTHING.items():
            # All keys at once: a query that is read in parts prevents checkpoints of the catalogue.
            keys = con.sql(query).to_arrow_table().column(0)
            for start in range(0, len(keys), at_once):
                chunk = keys.slice(start, at_once).to_pylist()
                refs = Refs.of_kind(kind, chunk)
                with _reading(con):
                    rendering = Rendering(con, self._base_url, CataloguedWorks(con))
                    self._social.add(rendering.social(refs))
                    self._add(rendering.catalogue(rendering.tracks(refs.tracks), (), refs))
                    self._add(rendering.tags(refs))
                done += len(chunk)
                yield done, total
        self._commit(op, self._commit_reactions(op))
        self._beside.shutdown()
        for folder in self._folders:
            folder.finish()

    def close(self) -> None:
        """Close the indexes. Uncommitted entries are indexed again at the next start."""
        self._beside.shutdown()
        for folder in self._folders:
            folder.close()

    def _replace(
        self, con: duckdb.DuckDBPyConnection, entries: list[tuple[int, str, int | None, str | None]]
    ) -> Future[None]:
        """Replace the stale documents. Returns the commit of likes and comments, which has begun.

        Of a large step it begins last, so that readers do not see them long before the rest.
        """
        # An index that is ahead of the others gets the same documents once more.
        refs = Refs.of(entry[1:] for entry in entries)
        counted = refs.counts | refs.ranks
        known = committed_tracks(self._catalog, counted)
        refs.tracks |= counted - known.keys()
        works = IndexedWorks(self._catalog, self._social, refs, known)
        rendering = Rendering(con, self._base_url, works)
        tracks = rendering.tracks(refs.tracks)
        cards, reactions = list(rendering.counts(known)), list(rendering.social(refs))
        works.add_tracks(tracks)
        works.add_cards(cards)
        works.add_reactions(reactions)
        ranked = self._ranked(works, refs)
        refs.artists |= self._unknown(refs.persons)
        self._social.drop(refs.social_names())
        self._social.add(reactions)
        op, is_small = entries[-1][0], len(entries) <= BESIDE_ENTRIES
        committing = self._commit_reactions(op) if is_small else None
        self._catalog.drop(refs.shown_names())
        self._words.drop([*refs.words_names(), *(words["doc"] for words in ranked)])
        self._words.add(ranked)
        self._add(works.noted(rendering.catalogue(tracks, cards, refs)))
        self._add(rendering.tags(refs))
        return committing or self._commit_reactions(op)

    def _commit_reactions(self, op: int) -> Future[None]:
        """Begin the commit of the social index. Until it ends, that index can be read and not written."""
        self._social.require_open()  # else the thread, which ended with it, would say so
        return self._beside.submit(_commit_changes, self._social, op)

    def _commit(self, op: int, reactions: Future[None]) -> None:
        _commit_changes(self._words, op)
        reactions.result()
        self._social.release()
        self._catalog.commit(op)

    def _ranked(self, works: IndexedWorks, refs: Refs) -> list[Fields]:
        """New searchable documents of the artists of whom the step changes nothing but the popularity.

        Those that have no such document yet, or no shown one, are to be rendered: they join `refs.artists`.
        """
        popular = works.popularity(works.owners - refs.artists)
        ids = {did: kind_id("artist", record_id(did)) for did in popular}
        known = self._words.numbers("popular", ids.values())
        moved = {
            did: count
            for did, count in popular.items()
            if known.get(ids[did], 0) >> COUNT_SHIFT != round_count(count)
        }
        wanted = [ids[did] for did in moved if ids[did] in known]
        shown, recent = self._catalog.stored(wanted, "id"), self._catalog.numbers("recent", wanted)
        # Two accounts may have the same id.
        own = {did for did in moved if ids[did] in shown and Card(memoryview(shown[ids[did]])).did == did}
        refs.artists |= moved.keys() - own
        return [artist.ranked_words(shown[ids[did]], recent[ids[did]], moved[did]) for did in own]

    def _unknown(self, people: Collection[str]) -> set[str]:
        """Those of these accounts that have no document."""
        ids = {did: kind_id("artist", record_id(did)) for did in people}
        known = self._catalog.numbers("id", ids.values())
        return {did for did, number in ids.items() if number not in known}

    def _add(self, documents: Iterable[Documents]) -> None:
        """Add new documents of the catalogue."""
        for shown, words in documents:
            self._catalog.add([shown])
            if words is not None:
                self._words.add([words])

    def _compare(self, con: duckdb.DuckDBPyConnection) -> None:
        """Refuse to go on from a watermark that the catalogue cannot continue."""
        meta = _outbox_meta(con)
        pruned, last = meta.get("outbox_pruned", 0), meta.get("outbox_op", 0)
        if self.watermark < pruned:
            raise StoreError(
                f"The search index in {self._path} lacks changes that the catalogue no longer lists "
                f"(it has {self.watermark}, they are gone up to {pruned}); {REBUILD}"
            )
        if max(folder.watermark for folder in self._folders) > last:
            raise StoreError(f"The search index in {self._path} belongs to another catalogue; {REBUILD}")
        self._compared = True


def _commit_changes(folder: IndexFolder, op: int) -> None:
    if folder.has_changes:
        folder.commit(max(op, folder.watermark))
    else:
        folder.release()


def replacement_folders(path: Path) -> tuple[Path, Path]:
    """The folder in which a replacement of the index is built, and the folder that this one moves to then."""
    return path.with_name(path.name + search_index.FRESH_SUFFIX), path.with_name(f"{path.name}.old")


def put_in_place(path: Path) -> None:
    """Replace this index by the rebuilt one. Raises StoreError."""
    fresh, old = replacement_folders(path)
    with explain_errors(path):
        if path.exists():
            os.rename(path, old)
        os.rename(fresh, path)


def _finish_change(path: Path) -> None:
    """Complete a replacement that a crash interrupted: an old index exists only when the new one is whole."""
    fresh, old = replacement_folders(path)
    if old.exists() and fresh.exists() and not path.exists():
        put_in_place(path)


@contextmanager
def _reading(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Read one state of the catalogue. Until the block ends, the catalogue cannot be checkpointed."""
    con.execute("begin transaction read only")
    try:
        yield
    finally:
        con.execute("rollback")


def _outbox_meta(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    found = con.execute("select name, value::bigint from meta where name like 'outbox_%'").fetchall()
    return dict(found)
