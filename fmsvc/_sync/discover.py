"""Search, top tracks and tags."""

import builtins
from collections.abc import Iterator

from fmsvc._sync.http import Http
from fmsvc.answers import parse_models
from fmsvc.models import SearchResponse, Tag, Track


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
        sort: str | None = None,
        cursor: str | None = None,
    ) -> SearchResponse:
        """One page of results. `type`: some of tracks, artists, albums, playlists, tags, with commas."""
        asked = {"q": query, "type": type, "limit": limit, "sort": sort, "cursor": cursor}
        return self._http.get(SearchResponse, "search", "", query=asked)

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
