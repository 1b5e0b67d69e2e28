"""One Tantivy index on disk: documents replaced by name, committed together with a watermark."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

import orjson
import tantivy

from indexer.catalog.store_errors import NO_ROOM, is_full, no_room
from indexer.faults import StoreError
from indexer.search.documents.fields import Fields
from schemas import search_index, stored
from schemas.document_store import DocumentStore, UnknownFormat, map_segments

HEAP_BYTES: Final = 48 << 20  # of documents, before Tantivy writes a segment
REBUILD_HEAP_BYTES: Final = 256 << 20  # makes fewer segments: each costs every search a look-up for each term
FIRST: Final = 64  # documents of an account that are looked for: most have fewer, and room costs time
REBUILD: Final = "run `fmsvc-server rebuild`, which makes it again from the catalogue."


class OlderIndex(StoreError):
    """An older version of this program made the index; it has to be rebuilt."""


class _Committed(NamedTuple):
    """One committed state. `stores`: where its segments keep documents; None: Tantivy is asked for them."""

    searcher: tantivy.Searcher
    stores: tuple[DocumentStore, ...] | None

    def read_ahead(self, addresses: Iterable[tantivy.DocAddress]) -> None:
        """Have the system read these documents from the disk at once, instead of one after the other."""
        if self.stores is not None:
            numbers: defaultdict[int, list[int]] = defaultdict(list)
            for address in addresses:
                numbers[address.segment_ord].append(address.doc)
            for segment, these in numbers.items():
                self.stores[segment].read_ahead(these)

    def stored(self, address: tantivy.DocAddress) -> bytes:
        """The stored bytes of a document. Tantivy copies a block of 64 KiB for one."""
        if self.stores is not None:
            return self.stores[address.segment_ord].get(address.doc).tobytes()
        packed: bytes = self.searcher.doc(address)[search_index.STORED][0]
        return packed


class IndexFolder:
    """An index, the only writer of it, and the watermark that was last committed."""

    def __init__(self, path: Path, index: tantivy.Index, writer: tantivy.IndexWriter) -> None:
        self._path = path
        self._index = index
        self._schema = index.schema
        self._writer: tantivy.IndexWriter | None = writer
        self._committed: _Committed | None = None  # what the last commit has, once it is asked
        self._stores: dict[str, DocumentStore] = {}  # by segment, as far as they were mapped
        self.has_changes = False  # since the last commit
        self.watermark = _watermark(index)

    @classmethod
    def open(cls, path: Path, schema: tantivy.Schema, heap_bytes: int = HEAP_BYTES) -> Self:
        """Open the index in this folder, creating it if there is none. Raises StoreError, or OlderIndex.

        `heap_bytes`: of documents, before a segment is written.
        """
        with explain_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            index = _opened(path, schema)
            index.config_reader("manual")
            search_index.register_tokenizers(index)
            writer = index.writer(heap_bytes, num_threads=1)
            try:
                # A killed process leaves the files of its commit; the next would fail over their names.
                writer.garbage_collect_files()
                return cls(path, index, writer)
            except BaseException:
                del writer  # else the error's frames hold its lock for as long as they are there
                raise

    def drop(self, names: Iterable[str]) -> None:
        """Remove the documents of these names, if present."""
        with explain_errors(self._path):
            for name in names:
                self.writer.delete_documents_by_term("doc", name)
                self.has_changes = True

    def add(self, found: Iterable[Fields]) -> int:
        """Add new documents. Returns how many."""
        added = 0
        for fields in found:
            with explain_errors(self._path):
                self.writer.add_document(_document(fields, self._schema))
            self.has_changes = True
            added += 1
        return added

    def numbers(self, field: str, ids: Collection[int]) -> dict[int, int]:
        """A numeric field of each committed document with one of these ids: of one document for each id."""
        with explain_errors(self._path):
            searcher = self._read().searcher
            found = self._find(searcher, "id", ids)
            return dict(zip(found, _numbers(searcher, field, list(found.values())), strict=True))

    def stored(self, numbers: Collection[int], field: str = "key") -> dict[int, bytes]:
        """The stored bytes of a committed document for each of these numbers, which its `field` has.

        Tracks and lists have keys; ids of two documents may be the same.
        """
        with explain_errors(self._path):
            committed = self._read()
            found = self._find(committed.searcher, field, numbers)
            committed.read_ahead(found.values())
            return {number: committed.stored(address) for number, address in found.items()}

    def find_numbers(self, terms: Mapping[str, str], *fields: str) -> list[tuple[int, ...]]:
        """These numeric fields of each committed document that has all of the terms, by field."""
        with explain_errors(self._path):
            searcher = self._read().searcher
            addresses = self._with_terms(searcher, terms)
            columns = [_numbers(searcher, field, addresses) for field in fields]
            return list(zip(*columns, strict=True))

    def sum_numbers(self, field: str, terms: Mapping[str, str]) -> tuple[int, int]:
        """The number of committed documents with all of the terms, by field, and the sum of one field."""
        with explain_errors(self._path):
            found = self._read().searcher.aggregate(
                self._all_of(terms), {"found": {"stats": {"field": field}}}
            )
            return int(found["found"]["count"]), int(found["found"]["sum"])

    def find_names(self, terms: Mapping[str, str]) -> Iterator[str]:
        """The `doc` of each committed document that has all of the terms, by field."""
        with explain_errors(self._path):
            committed = self._read()
            for address in self._with_terms(committed.searcher, terms):
                yield stored.Stored(memoryview(committed.stored(address))).doc

    def _find(
        self, searcher: tantivy.Searcher, field: str, values: Collection[int]
    ) -> dict[int, tantivy.DocAddress]:
        """The addresses of the committed documents with one of these values, by value."""
        if not values:
            return {}
        query = tantivy.Query.term_set_query(self._schema, field, list(values))
        addresses = [address for _, address in searcher.search(query, len(values), count=False).hits]
        return dict(zip(_numbers(searcher, field, addresses), addresses, strict=True))

    def _with_terms(self, searcher: tantivy.Searcher, terms: Mapping[str, str]) -> list[tantivy.DocAddress]:
        query = self._all_of(terms)
        found = searcher.search(query, FIRST)
        total: int = found.count or 0  # type: ignore[attr-defined]  # the package's stub leaves it out
        if total > FIRST:
            found = searcher.search(query, total, count=False)
        return [address for _, address in found.hits]

    def _all_of(self, terms: Mapping[str, str]) -> tantivy.Query:
        return tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Must, tantivy.Query.term_query(self._schema, field, term))
                for field, term in terms.items()
            ]
        )

    def _read(self) -> _Committed:
        """What is committed. A question uses one searcher throughout: a commit on another thread may end."""
        committed = self._committed
        if committed is None:
            meta = self._meta()
            self._index.reload()
            searcher = self._index.searcher()
            committed = self._committed = _Committed(searcher, self._map(meta, searcher))
        return committed

    def _map(self, meta: bytes, searcher: tantivy.Searcher) -> tuple[DocumentStore, ...] | None:
        """The stores of the searcher's segments; None when Tantivy has to be asked for documents.

        Where segments were merged since `meta` was read, it is not known which ones the searcher has.
        """
        if meta != self._meta():
            return None
        try:
            self._stores = map_segments(self._path, meta, searcher.num_segments, self._stores)
        except (UnknownFormat, OSError):
            return None
        return tuple(self._stores.values())

    def _meta(self) -> bytes:
        return (self._path / "meta.json").read_bytes()

    def commit(self, op: int) -> None:
        """Commit the replaced documents together with the watermark."""
        self.release()
        self.drop([search_index.CURSOR])
        self.add([{"doc": search_index.CURSOR, "id": op, "card": orjson.dumps({"op": op})}])
        with explain_errors(self._path):
            self.writer.commit()
        self.has_changes = False
        self.watermark = op

    def release(self) -> None:
        """Let go of the segments that were read: those merged by now take room while they are mapped.

        Documents take long to map: those of merged segments go at the next look.
        """
        self._committed = None

    def finish(self) -> None:
        """Wait until segments are merged, and close."""
        self.writer.wait_merging_threads()
        self._writer = None

    def close(self) -> None:
        """Release the lock. Uncommitted documents are lost."""
        self.release()
        self._stores = {}
        self._writer = None

    def require_open(self) -> None:
        """Raises StoreError when it is closed."""
        self.writer  # noqa: B018

    @property
    def writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise StoreError(f"The search index in {self._path} is closed.")
        return self._writer


def _opened(path: Path, schema: tantivy.Schema) -> tantivy.Index:
    """The index in this folder, set to store documents so that readers can map them."""
    meta = path / "meta.json"
    if not meta.exists():
        with (path / search_index.VERSION_FILE).open("w") as file:
            file.write(str(search_index.VERSION))
            file.flush()
            os.fsync(file.fileno())
        tantivy.Index(schema, str(path))
    _require_version(path)
    known = orjson.loads(meta.read_bytes())
    if known["index_settings"] != search_index.STORE_SETTINGS:
        changed = meta.with_name("meta.json.new")
        changed.write_bytes(orjson.dumps({**known, "index_settings": search_index.STORE_SETTINGS}))
        changed.replace(meta)
    return tantivy.Index(schema, str(path))


def _require_version(path: Path) -> None:
    version = search_index.version_in(path)
    if version < search_index.VERSION:
        raise OlderIndex(
            f"The search index in {path.parent} was made by an older version of this program; "
            "the indexer rebuilds it when it starts."
        )
    if version > search_index.VERSION:
        raise StoreError(
            f"The search index in {path.parent} was made by a newer version of this program; "
            f"use that one, or {REBUILD}"
        )


def _numbers(searcher: tantivy.Searcher, field: str, addresses: list[tantivy.DocAddress]) -> list[int]:
    return searcher.fast_field_values(field, addresses) if addresses else []  # type: ignore[return-value]


def _document(fields: Fields, schema: tantivy.Schema) -> tantivy.Document:
    given = {
        name: value for name, value in fields.items() if (value or value == 0) and name not in stored.NAMES
    }
    given[search_index.STORED] = stored.pack_document(fields)
    return tantivy.Document.from_dict(given, schema)


def _watermark(index: tantivy.Index) -> int:
    searcher = index.searcher()
    query = tantivy.Query.term_query(index.schema, "doc", search_index.CURSOR)
    found = searcher.search(query, 1, count=False).hits
    if not found:
        return 0
    packed = _Committed(searcher, None).stored(found[0][1])
    return int(orjson.loads(stored.Stored(memoryview(packed)).card)["op"])


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn what Tantivy and the system say about the files into a StoreError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StoreError(_sentence(path, str(error))) from error
    except BaseException as error:
        if search_index.is_panic(error):
            raise StoreError(_sentence(path, str(error))) from error
        raise


def _sentence(path: Path, said: str) -> str:
    lowered = said.lower()
    unwritable = ("permission denied", "read-only file system", "not a directory")
    if any(words in lowered for words in unwritable):
        return f"The folder {path} cannot be written; correct its permissions or set FMSVC_DATA_DIR."
    if "lockbusy" in lowered or "failed to acquire" in lowered:
        return f"The search index in {path} is in use by another indexer; stop that one first."
    if is_full(path) or any(words in lowered for words in NO_ROOM):
        return no_room(path)
    if "index writer was killed" in lowered:  # by an error of the system in a thread of its own
        return f"{path} could not be written; see that its disk works and has room, and start again."
    return f"The search index in {path.parent} cannot be read ({said.strip()[:200]}); {REBUILD}"
