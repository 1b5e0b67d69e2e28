"""Search results as a page shows them: grouped by kind, with links and marked words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from markupsafe import Markup, escape

from readapi.index.lookups import Index
from readapi.index.search.execute import Found, Search
from readapi.index.search.highlights import Highlighter
from readapi.index.search.parameters import KINDS
from readapi.pages import text
from readapi.pages.public import metadata
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from schemas import search_text
from schemas.ids import INVALID_HANDLE
from schemas.search_index import Kind

FEWEST_LETTERS = 2
OF_EACH = 10  # of each kind, where several are shown
OF_ONE = 20

_NAMES: Mapping[Kind, str] = {
    "track": "Tracks",
    "artist": "Artists",
    "album": "Albums",
    "playlist": "Playlists",
    "tag": "Tags",
}
_SORTS = (("relevance", "Best match"), ("popular", "Most popular"), ("recent", "Newest"))


@dataclass(frozen=True, slots=True)
class FoundItem:
    """One result. `name` is its title with the words of the query marked; `by` is the artist or the owner.

    `source` and `play`: of a track, where its audio is and where a play of it is counted. Its length is not
    among what a search reads.
    """

    title: str
    name: Markup
    page: str | None
    by: str | None = None
    count: str | None = None
    source: str | None = None
    play: str | None = None
    seconds: int | None = None
    length: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one kind, how many there are on all pages, and the address of these alone."""

    kind: Kind
    name: str
    total: int
    items: list[FoundItem]
    all_of_kind: str


def of_no_search(text_: str, addresses: Addresses) -> View:
    """For the page before anything is searched for, or with too short a text."""
    head = metadata.of_page("Search", "Search all music on the network.", addresses.page("/search"))
    return {"head": head, "q": text_, "is_too_short": bool(text_), "wanted": None}


def of_found(
    wanted: Search, found: Found, after: str | None, cursor: str | None, index: Index, addresses: Addresses
) -> View:
    """For a page of results; `after` leads to the next one. `cursor`: of this page."""
    pages = _Pages(wanted)
    items = _items(found, index, addresses)
    groups = [
        Group(kind, _NAMES[kind], found.counts[kind], items[kind], pages.of((kind,)))
        for kind in wanted.kinds
        if items[kind]
    ]
    listed = None if cursor is not None else _listed_text(wanted, found)
    path = pages.of(wanted.kinds, cursor) if listed is None else f"/search?{urlencode({'q': listed})}"
    title, description = f"Search: {wanted.text}", f"Music found for {wanted.text}."
    return {
        "head": metadata.of_page(title, description, addresses.base_url + path, indexed=listed is not None),
        "q": wanted.text,
        "wanted": wanted,
        "is_too_short": False,
        "kinds_wanted": ",".join(f"{kind}s" for kind in wanted.kinds),
        "groups": groups,
        "choices": _choices(wanted, found.counts, pages),
        "sorts": [(value, name, value == wanted.sort) for value, name in _SORTS],
        "shows_more_of_kind": len(wanted.kinds) > 1 and cursor is None,
        "first": next((item for item in items["track"] if item.source), None),
        "older": pages.of(wanted.kinds, after) if after else None,
    }


def _listed_text(wanted: Search, found: Found) -> str | None:
    """The text under which search engines may list a first page of results: its words; None if they may not.

    Only where music has each of the words, and the text is nothing but them: sites can link to a search for
    other words or signs, which its title repeats.
    """
    is_narrowed = len(wanted.kinds) < len(KINDS) or wanted.tag or wanted.artist_did
    if is_narrowed or wanted.sort != "relevance" or not found.is_exact:
        return None
    words = " ".join(word.text for word in found.words.words)
    typed = " ".join(search_text.fold_text(wanted.text).split())
    return words if words and words == typed else None


class _Pages:
    """Paths of pages of one search, each for some kinds."""

    def __init__(self, wanted: Search) -> None:
        sort = None if wanted.sort == "relevance" else wanted.sort
        given = {"q": wanted.text, "tag": wanted.tag, "artist_did": wanted.artist_did, "sort": sort}
        self._path = f"/search?{urlencode({name: value for name, value in given.items() if value})}"

    def of(self, kinds: Sequence[Kind], cursor: str | None = None) -> str:
        """The page of these kinds that begins at a cursor."""
        of_kinds = "" if len(kinds) == len(KINDS) else f"&type={','.join(f'{kind}s' for kind in kinds)}"
        return f"{self._path}{of_kinds}" + (f"&cursor={quote(cursor)}" if cursor else "")


def _choices(wanted: Search, counts: Mapping[Kind, int], pages: _Pages) -> list[tuple[str, str, bool]]:
    """Everything, or one kind; each with the number of its results."""
    every = tuple(KINDS.values())
    choices = [("Everything", pages.of(every), len(wanted.kinds) == len(every))]
    for kind, name in _NAMES.items():
        choices.append((f"{name} {counts[kind]:,}", pages.of((kind,)), tuple(wanted.kinds) == (kind,)))
    return choices


def _items(found: Found, index: Index, addresses: Addresses) -> dict[Kind, list[FoundItem]]:
    highlighter = cache(lambda: Highlighter(found.words))  # tracks are marked already
    items: dict[Kind, list[FoundItem]] = {kind: [] for kind in _NAMES}
    for result in found.results:
        known = orjson.loads(result)
        items[known["type"]].append(_item(known, highlighter, index, addresses))
    return items


def _item(
    known: dict[str, Any], highlighter: Callable[[], Highlighter], index: Index, addresses: Addresses
) -> FoundItem:
    title = known.get("title") or known.get("name") or known.get("display_name") or ""
    name = _marked(title, known["highlight"] if "highlight" in known else highlighter().mark([title])[0])
    match known["type"]:
        case "track":
            number = known["id"]
            return FoundItem(
                title,
                name,
                addresses.page(f"/track/{number}"),
                known["artist_display_name"],
                source=addresses.page(f"/tracks/{number}/stream"),
                play=addresses.play(number),
            )
        case "artist":
            handle = None if known["handle"] == INVALID_HANDLE else f"@{known['handle']}"
            return FoundItem(title, name, addresses.artist(known["handle"], known["did"]), count=handle)
        case "album":
            page = _album_page(known, index, addresses)
            return FoundItem(title, name, page, known["artist_display_name"])
        case "playlist":
            count = text.format_count(known["track_count"], "track")
            page = addresses.playlist(known["id"])
            return FoundItem(title, name, page, known["owner_display_name"], count)
        case _:
            count = text.format_count(known["track_count"], "track")
            return FoundItem(title, name, addresses.tag(title), count=count)


def _album_page(known: dict[str, Any], index: Index, addresses: Addresses) -> str | None:
    """An album goes by its artist's handle; without one by the DID, which only its card has."""
    handle, did = known["artist_handle"], ""
    if handle == INVALID_HANDLE:
        card = index.find_list("album", known["id"])
        if card is None:
            return None
        did = card.did
    return addresses.album(handle, did, known["slug"])


def _marked(plain: str, marked: str | None) -> Markup:
    """The name as HTML. `marked` is escaped already."""
    if marked is None:
        return escape(text.drop_unprintable(plain))
    return Markup(text.drop_unprintable(marked))  # noqa: S704 - the highlighter escapes
