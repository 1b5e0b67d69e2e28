"""Search, top tracks and tags."""

import builtins
from collections.abc import AsyncIterator
from datetime import date

from fmsvc._async.http import Http
from fmsvc.answers import next_cursor, parse_models
from fmsvc.models import SearchResponse, SearchResult, Series, Suggestion, Suggestions, Tag, Track

_PAGE = 50


class Discover:
    """Find tracks, artists, albums, playlists and tags."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def search(
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
        adult: bool = False,
    ) -> SearchResponse:
        """One page of results. `type`: some of tracks, artists, albums, playlists, tags, with commas.

        `adult`: also what labels say is for adults; so in all methods.
        """
        asked = {"q": query, "type": type, "limit": limit, "tag": tag, "artist_did": artist_did}
        more = {"sort": sort, "cursor": cursor, "explain": explain, "adult": adult or None}
        return await self._http.get(SearchResponse, "search", "", query={**asked, **more})

    async def iterate(
        self,
        query: str,
        *,
        type: str | None = None,
        limit: int | None = None,
        sort: str | None = None,
        adult: bool = False,
    ) -> AsyncIterator[SearchResult]:
        """The results of a search, page after page."""
        cursor: str | None = None
        seen: set[str] = set()
        left = limit
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            page = await self.search(query, type=type, limit=size, sort=sort, cursor=cursor, adult=adult)
            for result in page.results[:left]:
                yield result
            left = None if left is None else left - len(page.results)
            cursor = next_cursor(page.next_cursor, seen)
            if cursor is None:
                return

    async def suggest(self, query: str) -> builtins.list[Suggestion]:
        """At most ten names that begin or go on as typed, the best first."""
        return (await self._http.get(Suggestions, "search", "suggest", query={"q": query})).suggestions

    async def top_tracks(
        self, *, limit: int = 10, period: str | None = None, adult: bool = False
    ) -> builtins.list[Track]:
        """The tracks with the most likes, of a `period` like `week`."""
        query = {"limit": limit, "period": period, "adult": adult or None}
        found = await self._http.ask("GET", "tracks", "top", query=query)
        return parse_models(Track, found)

    async def series(
        self,
        metric: str = "likes",
        *,
        bucket: str = "day",
        since: date | str | None = None,
        until: date | str | None = None,
        artist: str | None = None,
        tag: str | None = None,
        track: int | str | None = None,
        by: str | None = None,
        limit: int = 5,
    ) -> Series:
        """Likes, plays, comments, tracks or artists by the hour, day, week or month, in UTC.

        Of everything, of one `artist` (handle or DID), `tag` or `track` (its id), or, with `by`, of those
        `limit` artists, tags or tracks that have the most. `since` and `until`: dates, or datetimes with a
        timezone; without `since` there are 30 buckets up to `until`, which is now if it is not given.
        """
        asked = {"metric": metric, "bucket": bucket, "artist": artist, "tag": tag, "track": track, "by": by}
        span = {"from": _instant(since), "to": _instant(until)}
        query = {**asked, **span, "limit": limit if by else None}
        return await self._http.get(Series, "stats", "series", query=query)


def _instant(given: date | str | None) -> str | None:
    return given.isoformat() if isinstance(given, date) else given


class Tags:
    """Tags, and the tracks that carry them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self, *, q: str | None = None, limit: int = 20) -> builtins.list[Tag]:
        """Tags, the most used first; with `q` those that begin so."""
        return parse_models(
            Tag, await self._http.ask("GET", "tracks", "tags", query={"q": q, "limit": limit})
        )

    async def tracks(self, tag: str, *, limit: int = 50, adult: bool = False) -> builtins.list[Track]:
        """Tracks that carry a tag, newest first."""
        return [track async for track in self.iterate(tag, limit=limit, adult=adult)]

    def iterate(self, tag: str, *, limit: int | None = None, adult: bool = False) -> AsyncIterator[Track]:
        """The same, page after page."""
        query = {"adult": adult or None}
        return self._http.pages(Track, "tracks", "tracks", "tags", tag, limit=limit, query=query)
