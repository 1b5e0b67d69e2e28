"""Names to choose from while a query is typed: those of a search's best results."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import orjson

from readapi.index.lookups import Index
from readapi.index.search.execute import Search, execute_search

MOST: Final = 10


def suggest_names(index: Index, text: str) -> list[bytes]:
    """At most MOST names as JSON, each once, in the order of a search. Raises IndexNotReady."""
    found = execute_search(index, Search(text), None, MOST)
    return list(islice(_names(orjson.loads(result) for result in found.results), MOST))


def _names(results: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    seen: set[tuple[str, str]] = set()
    for result in results:
        name = result.get("title") or result.get("name") or result.get("display_name") or ""
        if name and (result["type"], name) not in seen:
            seen.add((result["type"], name))
            by = result.get("artist_display_name") or result.get("owner_display_name")
            yield orjson.dumps({"type": result["type"], "name": name, "by": by})
