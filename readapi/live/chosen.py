"""The request's filter parameters -> a Filter: names are checked, and artists' handles resolved."""

from collections.abc import Callable, Iterable

from readapi.errors import InvalidRequest, NotFound
from readapi.index.lookups import Index
from readapi.index.queries import artists as people
from readapi.live.filters import Filter
from schemas.ids import is_did, is_nsid, normalise_tag


def read_filter(
    index: Index,
    collections: Iterable[str],
    dids: Iterable[str],
    tags: Iterable[str],
    artists: Iterable[str],
    names: tuple[str, str] = ("wantedCollections", "wantedDids"),
) -> Filter:
    """The filter. `names`: what the request calls collections and DIDs. Raises InvalidRequest, NotFound."""
    return Filter(
        _checked(names[0], collections, _is_collection),
        _checked(names[1], dids, is_did),
        frozenset(name if is_did(name) else _find_artist(index, name) for name in artists),
        frozenset(filter(None, map(normalise_tag, tags))),
    )


def _find_artist(index: Index, name: str) -> str:
    try:
        return people.find_artist(index, name).did
    except NotFound:
        raise NotFound(f"There is no artist {name[:100]}.") from None


def _is_collection(name: str) -> bool:
    return is_nsid(f"{name[:-1]}any" if name.endswith(".*") else name)


def _checked(field: str, names: Iterable[str], is_valid: Callable[[str], object]) -> frozenset[str]:
    found = frozenset(names)
    for name in found:
        if not is_valid(name):
            raise InvalidRequest.of_field(field, f"{name[:100]!r} is not valid here.")
    return found
