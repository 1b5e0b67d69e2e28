"""Lists by offset, for protocols without cursors, up to MOST_OFFSET; and random samples."""

import random
import secrets
from datetime import UTC, datetime
from typing import Any, Final, Literal

import orjson
from tantivy import FieldType, Order, Query

from readapi.index.folder import match_all
from readapi.index.lookups import Index, Sort
from readapi.index.paging import Row
from schemas.ids import ID_BITS
from schemas.search_index import kind_id, recent_key
from schemas.stored import Card

MOST_OFFSET: Final = 10_000

_YEARS = (1970, 2039)  # that sort keys tell apart


def list_from(
    index: Index, query: Query, by: Sort, offset: int, limit: int, *, rising: bool = False
) -> list[Card]:
    """The matches of a query in the catalogue's index from an offset on, in the order of a field."""
    index.require()
    if offset > MOST_OFFSET or not limit:
        return []
    order = Order.Asc if rising else Order.Desc
    hits = index.catalog.search(query, offset + limit, by=by, order=order).hits[offset:]
    return index.unpack([Row(key, 0, address) for key, address in hits])


def popular_hits(index: Index, kind: Literal["artist", "album"], offset: int, limit: int) -> list[bytes]:
    """Search results of a kind, the most popular first: JSON without the closing brace."""
    index.require()
    if offset > MOST_OFFSET or not limit:
        return []
    found = index.words.search(index.words.term("kind", kind), offset + limit, by="popular").hits[offset:]
    return [hit for hit in index.hits([address for _, address in found]) if hit is not None]


def read_hit(hit: bytes) -> dict[str, Any]:
    """A search result that is ready-made but for its closing brace."""
    known: dict[str, Any] = orjson.loads(hit + b"}")
    return known


def sample_cards(index: Index, kind: Literal["track", "album"], query: Query, limit: int) -> list[Card]:
    """A random sample of the matches: ids are hashes, so the ones above a random number are one."""
    index.require()
    middle, end = kind_id(kind, secrets.randbits(ID_BITS)), kind_id(kind, (1 << ID_BITS) - 1)
    rows: list[Row] = []
    for low, high in ((middle, end), (kind_id(kind, 0), middle - 1)):
        if len(rows) < limit and low <= high:
            some = match_all(query, _between(index, "id", low, high))
            hits = index.catalog.search(some, limit - len(rows), by="id", order=Order.Asc).hits
            rows += [Row(key, 0, address) for key, address in hits]
    random.shuffle(rows)
    return index.unpack(rows)


def of_years(index: Index, first: int, last: int) -> Query:
    """Documents from the beginning of one year to the end of another."""
    low, high = (min(max(year, _YEARS[0]), _YEARS[1]) for year in (first, last + 1))
    return _between(index, "recent", _key_of(low), max(_key_of(high) - 1, 0))


def _key_of(year: int) -> int:
    return recent_key(int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000), 0)


def _between(index: Index, field: str, low: int, high: int) -> Query:
    return Query.range_query(index.catalog.schema, field, FieldType.Unsigned, low, high)
