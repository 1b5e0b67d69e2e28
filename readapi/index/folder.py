"""Reads one Tantivy index on disk, and notices when it appears, grows or is replaced."""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson
import structlog
import tantivy
from tantivy import DocAddress, Occur, Order, Query

from schemas import search_index
from schemas.document_store import DocumentStore, UnknownFormat, map_segments
from schemas.recent import Recent
from schemas.search_index import KIND_SPAN, KINDS, Kind, kind_of
from schemas.stored import Stored

Found = TypeVar("Found")

log = structlog.get_logger()

_ONE_BY_ONE = 200
MOST_COUNTS = 20_000  # terms whose number of documents is remembered
MOST_PAGES = 500  # first pages of searches that are remembered
MOST_KINDS = 1_000  # queries of which the number of documents of each kind is
_ATTEMPTS = 5
_FEW = 4_000  # matches, up to which their kinds are told by the ids of those that are no tracks
_MOST_OTHERS = 1_000  # ids that are read for that; of more, an aggregation counts
_BY_KIND = {"kinds": {"histogram": {"field": "id", "interval": float(KIND_SPAN)}}}


class OtherIndex(ValueError):
    """Another version of the program made the index."""


@dataclass(frozen=True, slots=True)
class State:
    """One committed state of an index; `stores` is where its segments keep documents, if that can be read."""

    stamp: tuple[int, ...]
    index: tantivy.Index
    searcher: tantivy.Searcher
    stores: Mapping[str, DocumentStore] | None
    op: int

    @property
    def folder_id(self) -> int:
        return self.stamp[0]


class IndexMatches(NamedTuple):
    """The first matches, each with its score or sort key; `total` counts all, if requested."""

    hits: list[tuple[Any, DocAddress]]
    total: int


class IndexFolder:
    """The newest committed state of one index. `op`: the last outbox entry that it includes."""

    def __init__(self, path: Path, schema: tantivy.Schema) -> None:
        self._path = path
        self._looked_at = str(path), str(path / "meta.json")
        self._state: State | None = None
        self._stores: Sequence[DocumentStore] | None = None
        self.schema = schema
        self.searcher: tantivy.Searcher | None = None
        self.op = 0
        self.rows_read = 0  # matches returned so far: the cost of a request grows with them
        self.folder_id = 0  # of the folder being read: changes with a rebuild
        # In the state that is shown: of terms, of named queries, and of searches that match much.
        self._counts: Recent[tuple[str, str], int] = Recent(MOST_COUNTS)
        self._kinds: Recent[Hashable, dict[Kind, int]] = Recent(MOST_KINDS)
        self._first_pages: Recent[Hashable, list[Any]] = Recent(MOST_PAGES)
        self.refusal = ""  # a sentence, when what is there was made by another version of the program

    def refresh(self) -> bool:
        """Read what was committed since. Returns whether the content has changed."""
        newer = self.read() if self.is_stale() else None
        return newer is not None and self.show(newer)

    @property
    def is_mapped(self) -> bool:
        """Whether documents are read in place, without Tantivy's API."""
        return self._stores is not None

    def is_stale(self) -> bool:
        """Whether something was committed since. Costs two stats."""
        stamp = self._look()
        return stamp is not None and (self._state is None or stamp != self._state.stamp)

    def read(self) -> State | None:
        """The committed state; None when it cannot be read now. May run on another thread than `show`."""
        try:
            return self._read()
        except BaseException as error:
            if not isinstance(error, (ValueError, OSError)) and not search_index.is_panic(error):
                raise
            # The folder may be in the middle of being replaced; what was read before stays until then.
            reason = str(error)[:200]
            if not isinstance(error, OtherIndex) or reason != self.refusal:
                log.warning("index_not_read", folder=self._path.name, reason=reason)
            self.refusal = reason if isinstance(error, OtherIndex) else ""
            return None

    def show(self, state: State) -> bool:
        """Answer from this state from now on. Returns whether the content has changed."""
        changed = self.searcher is None or (state.op, state.folder_id) != (self.op, self.folder_id)
        self._state, self.searcher = state, state.searcher
        self._stores = None if state.stores is None else tuple(state.stores.values())
        self.op, self.folder_id = state.op, state.folder_id
        self._counts.clear()
        self._kinds.clear()
        self._first_pages.clear()
        return changed

    def search(
        self,
        query: Query,
        most: int,
        *,
        by: str | None = None,
        order: Order = Order.Desc,
        weight: str | None = None,
        count: bool = False,
    ) -> IndexMatches:
        """The first matches in the order of a field, or of scores times log2(2 + the field `weight`)."""
        if self.searcher is None:
            return IndexMatches([], 0)
        found = self.searcher.search(query, most, count, by, 0, order, weight)
        hits = found.hits
        self.rows_read += len(hits)
        total: int = found.count or 0  # type: ignore[attr-defined]  # the package's stub leaves it out
        return IndexMatches(hits, total)

    def stored(self, addresses: Iterable[DocAddress]) -> list[memoryview]:
        """The stored bytes of these documents, in order."""
        stores, searcher = self._stores, self.searcher
        if stores is not None:
            return [stores[address.segment_ord].get(address.doc) for address in addresses]
        if searcher is None:
            return []
        return [memoryview(searcher.doc(address)[search_index.STORED][0]) for address in addresses]

    def first(self, query: Query, most: int) -> list[memoryview]:
        """The stored bytes of a few matches, in no particular order."""
        searcher, stores = self.searcher, self._stores
        if searcher is None:
            return []
        hits = searcher.search(query, most, False).hits
        self.rows_read += len(hits)
        if stores is None:
            return self.stored(address for _, address in hits)
        return [stores[address.segment_ord].get(address.doc) for _, address in hits]

    def term(self, field: str, value: str | int) -> Query:
        """Documents that carry a value."""
        return Query.term_query(self.schema, field, value, index_option="basic")

    def any_term(self, field: str, values: Sequence[Any]) -> Query:
        """Documents that carry one of these values. A few are sooner looked up one by one."""
        if len(values) > _ONE_BY_ONE:
            return Query.term_set_query(self.schema, field, values)
        # Scoring would cost most of the look-up.
        return Query.const_score_query(match_any(*(self.term(field, value) for value in values)), 1.0)

    def has_term(self, field: str, value: str) -> bool:
        """Does a document have this term?"""
        return self.searcher is not None and self.searcher.doc_freq(field, value) > 0

    def numbers(self, field: str, addresses: list[DocAddress]) -> list[Any]:
        """One numeric field of several documents."""
        return self.searcher.fast_field_values(field, addresses) if self.searcher and addresses else []

    def count(self, query: Query) -> int:
        """How many documents match."""
        return self.search(Query.const_score_query(query, 1.0), 1, count=True).total

    def count_term(self, field: str, text: str) -> int:
        """How many documents hold a term. Deleted ones do not count: an index made anew has none of them."""
        found = self._counts.find((field, text))
        if found is None:
            if not self.estimate_term(field, text):
                return 0
            found = self.count(self.term(field, text))
            self._counts.keep((field, text), found)
        return found

    def estimate_term(self, field: str, text: str) -> int:
        """How many documents hold a term, deleted ones included. Costs less than a query for it."""
        return self.searcher.doc_freq(field, text) if self.searcher is not None else 0

    def count_kinds(self, query: Query, name: Hashable = None, total: int | None = None) -> dict[Kind, int]:
        """How many documents of each kind match, by their `id`. `total`: of all kinds, if it is known.

        What is counted for a query with a name is remembered, under that name, while this state is shown.
        """
        known = None if name is None else self._kinds.find(name)
        if known is not None:
            return dict(known)
        counts = None if total is None or total > _FEW else self._count_others(query, total)
        if counts is None:
            counts = dict.fromkeys(KINDS, 0)
            if self.searcher is not None:
                for bucket in self.searcher.aggregate(query, _BY_KIND)["kinds"]["buckets"]:
                    counts[kind_of(int(bucket["key"]))] = int(bucket["doc_count"])
        if name is not None:
            self._kinds.keep(name, dict(counts))
        return counts

    def _count_others(self, query: Query, total: int) -> dict[Kind, int] | None:
        """The number of documents of each kind, from the ids of those that are no tracks; None if many are.

        Most matches are tracks.
        """
        others = match_all(query, self.term("kind", search_index.OTHER))
        hits, count = self.search(Query.const_score_query(others, 1.0), _MOST_OTHERS, count=True)
        if count > len(hits):
            return None
        counts = dict.fromkeys(KINDS, 0)
        for number in self.numbers("id", [address for _, address in hits]):
            counts[kind_of(number)] += 1
        counts["track"] = total - count
        return counts

    def first_page(self, name: Hashable, find: Callable[[], list[Found]]) -> list[Found]:
        """What `find` returns; remembered while this state is shown, under a name that is its own."""
        page = self._first_pages.find(name)
        if page is None:
            page = find()
            if page:
                self._first_pages.keep(name, page)
        return page

    def _look(self) -> tuple[int, ...] | None:
        try:
            folder, meta = map(os.stat, self._looked_at)
        except OSError:
            return None
        return folder.st_ino, meta.st_ino, meta.st_mtime_ns, meta.st_size

    def _read(self) -> State | None:
        before = self._state
        for _ in range(_ATTEMPTS):
            stamp, meta = self._look(), (self._path / "meta.json").read_bytes()
            if stamp is None:
                return None
            # Also of a folder that was read before: a replica puts another version's files into the same one.
            _require_version(self._path)
            if before is None or stamp[0] != before.folder_id:
                before = None
                index = tantivy.Index.open(str(self._path))
                index.config_reader("manual")
                search_index.register_tokenizers(index)
            else:
                index = before.index
                index.reload()
            searcher = index.searcher()
            # Else something was committed meanwhile, and it is not known which segments the searcher has.
            if stamp == self._look():
                op = _watermark(searcher, self.schema)
                known = before.stores if before else None
                return State(stamp, index, searcher, self._map(meta, searcher, known or {}), op)
        return None

    def _map(
        self, meta: bytes, searcher: tantivy.Searcher, known: Mapping[str, DocumentStore]
    ) -> dict[str, DocumentStore] | None:
        """The stores of the searcher's segments, in its order; None when they have to be asked for."""
        try:
            return map_segments(self._path, meta, searcher.num_segments, known)
        except (UnknownFormat, OSError) as error:
            log.warning("documents_not_mapped", folder=self._path.name, reason=str(error)[:200])
            return None


def match_all(*queries: Query) -> Query:
    """Documents that match all of these."""
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Must, query) for query in queries])


def match_any(*queries: Query) -> Query:
    """Documents that match one of these at least."""
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def exclude_query(query: Query, *others: Query) -> Query:
    """Documents that match the first and none of the others."""
    if not others:
        return query
    return Query.boolean_query([(Occur.Must, query), *((Occur.MustNot, other) for other in others)])


def ignore_score(query: Query) -> Query:
    """The same documents, which score nothing for it."""
    return Query.const_score_query(query, 0.0)


def _require_version(folder: Path) -> None:
    version = search_index.version_in(folder)
    if version < search_index.VERSION:
        raise OtherIndex("The search index is of an older version; the indexer rebuilds it when it starts.")
    if version > search_index.VERSION:
        raise OtherIndex("The search index is of a newer version of this program; start that one.")


def _watermark(searcher: tantivy.Searcher, schema: tantivy.Schema) -> int:
    """The last outbox entry in the index."""
    query = Query.term_query(schema, "doc", search_index.CURSOR, index_option="basic")
    found = searcher.search(query, 1, count=False).hits
    if not found:
        return 0
    packed = searcher.doc(found[0][1]).get_first(search_index.STORED)
    return int(orjson.loads(Stored(memoryview(packed)).card)["op"]) if packed else 0
