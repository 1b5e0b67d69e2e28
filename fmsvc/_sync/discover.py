"""Search, top tracks and tags."""

import builtins
from collections.abc import Iterator

from fmsvc._sync.http import Http
from fmsvc.answers import next_cursor, parse_models
from fmsvc.models import SearchResponse, SearchResult, Suggestion, Suggestions, Tag, Track

_PAGE = 50


class Discover:
    """Find tracks, artists, albums, playlists and tags."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def search(
        self,
        query: str,
        *,
        type: str | None = None,
        limit: int = 20,
        tag: str | None = None,
        artist_did: str | None = None,
        sort: str | None = None,
        cursor: str | None = None,
        explain: bool | None = None,
    ) -> SearchResponse:
        """One page of results. `type`: some of tracks, artists, albums, playlists, tags, with commas."""
        asked = {"q": query, "type": type, "limit": limit, "tag": tag, "artist_did": artist_did}
        return self._http.get(
            SearchResponse, "search", "", query={**asked, "sort": sort, "cursor": cursor, "explain": explain}
        )

    def iterate(
        self, query: str, *, type: str | None = None, limit: int | None = None, sort: str | None = None
    ) -> Iterator[SearchResult]:
        """The results of a search, page after page."""
        cursor: str | None = None
        seen: set[str] = set()
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            page = self.search(query, type=type, limit=size, sort=sort, cursor=cursor)
            for result in page.results[:left]:
                yield result
            left = None if left is None else left - len(page.results)
            cursor = next_cursor(page.next_cursor, seen)
            if cursor is None:
                return

    def suggest(self, query: str) -> builtins.list[Suggestion]:
        """At most ten names that begin or go on as typed, the best first."""
        return (self._http.get(Suggestions, "search", "suggest", query={"q": query})).suggestions

    def top_tracks(self, *, limit: int = 10, period: str | None = None) -> builtins.list[Track]:
        """The tracks with the most likes, of a `period` like `week`."""
        found = self._http.ask("GET", "tracks", "top", query={"limit": limit, "period": period})
        return parse_models(Track, found)


class Tags:
    """Tags, and the tracks that carry them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, *, q: str | None = None, limit: int = 20) -> builtins.list[Tag]:
        """Tags, the most used first; with `q` those that begin so."""
        return parse_models(Tag, self._http.ask("GET", "tracks", "tags", query={"q": q, "limit": limit}))

    def tracks(self, tag: str, *, limit: int = 50) -> builtins.list[Track]:
        """Tracks that carry a tag, newest first."""
        return [track for track in self.iterate(tag, limit=limit)]

    def iterate(self, tag: str, *, limit: int | None = None) -> Iterator[Track]:
        """The same, page after page."""
        return self._http.pages(Track, "tracks", "tracks", "tags", tag, limit=limit)
