"""One Tantivy index on disk, read: noticed when it appears, grows or is replaced."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import structlog
import tantivy
from tantivy import DocAddress, Occur, Query

from schemas import search_index

log = structlog.get_logger()

_ONE_BY_ONE = 200


class IndexFolder:
    """The newest committed state of one index. `op` is how far along the indexer's outbox it is."""

    def __init__(self, path: Path, schema: tantivy.Schema) -> None:
        self._path = path
        self._index: tantivy.Index | None = None
        self._stamp: tuple[int, ...] | None = None
        self.schema = schema
        self.searcher: tantivy.Searcher | None = None
        self.op = 0
        self.folder_id = 0  # of the folder that is read: another one after a rebuild

    def refresh(self) -> bool:
        """Read what was committed since. Returns whether the content is another than before."""
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return False
        try:
            changed = self._read(stamp[0])
        except BaseException as error:
            if not isinstance(error, (ValueError, OSError)) and not search_index.is_panic(error):
                raise
            # The folder may be in the middle of being replaced; what was read before stays until then.
            log.warning("index_not_read", folder=self._path.name, reason=str(error)[:200])
            return False
        self._stamp = stamp
        return changed

    def term(self, field: str, value: str | int) -> Query:
        """Documents that carry a value."""
        return Query.term_query(self.schema, field, value, index_option="basic")

    def any_term(self, field: str, values: Sequence[Any]) -> Query:
        """Documents that carry one of these values. A few are sooner looked up one by one."""
        if len(values) > _ONE_BY_ONE:
            return Query.term_set_query(self.schema, field, values)
        return either(*(self.term(field, value) for value in values))

    def numbers(self, field: str, addresses: list[DocAddress]) -> list[Any]:
        """One numeric field of several documents."""
        return self.searcher.fast_field_values(field, addresses) if self.searcher and addresses else []

    def count(self, query: Query) -> int:
        """How many documents match."""
        if self.searcher is None:
            return 0
        found = self.searcher.search(Query.const_score_query(query, 1.0), 1, count=True)
        return int(found.count)  # type: ignore[attr-defined]  # the package's stub leaves it out

    def _look(self) -> tuple[int, ...] | None:
        try:
            folder, meta = self._path.stat(), (self._path / "meta.json").stat()
        except OSError:
            return None
        return folder.st_ino, meta.st_ino, meta.st_mtime_ns, meta.st_size

    def _read(self, folder_id: int) -> bool:
        if self._index is None or folder_id != self.folder_id:
            index = tantivy.Index.open(str(self._path))
            index.config_reader("manual")
            search_index.register_tokenizers(index)
        else:
            index = self._index
            index.reload()
        searcher = index.searcher()
        op = _watermark(searcher, self.schema)
        changed = self.searcher is None or (op, folder_id) != (self.op, self.folder_id)
        self._index, self.searcher, self.op, self.folder_id = index, searcher, op, folder_id
        return changed


def every(*queries: Query) -> Query:
    """Documents that match all of these."""
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Must, query) for query in queries])


def either(*queries: Query) -> Query:
    """Documents that match one of these at least."""
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def without(query: Query, *others: Query) -> Query:
    """Documents that match the first and none of the others."""
    if not others:
        return query
    return Query.boolean_query([(Occur.Must, query), *((Occur.MustNot, other) for other in others)])


def _watermark(searcher: tantivy.Searcher, schema: tantivy.Schema) -> int:
    """How far the index is. Raises ValueError when another version of this program made it."""
    query = Query.term_query(schema, "doc", search_index.CURSOR, index_option="basic")
    found = searcher.search(query, 1, count=False).hits
    if not found:
        return 0
    cursor = orjson.loads(searcher.doc(found[0][1])["card"][0])
    if cursor["version"] != search_index.VERSION:
        raise ValueError("another version of this program made the index; run fmsvc-server rebuild")
    return int(cursor["op"])
