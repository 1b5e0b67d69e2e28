"""The client: one connection pool, and a namespace for each kind of resource."""

from typing import Any, Self

import httpx2

from fmsvc import __version__
from fmsvc._async.account import Preferences, Session
from fmsvc._async.albums import Albums
from fmsvc._async.artists import Artists
from fmsvc._async.comments import Comments
from fmsvc._async.discover import Discover, Tags
from fmsvc._async.http import Http
from fmsvc._async.playlists import Playlists
from fmsvc._async.publishing import Jobs, Publishing
from fmsvc._async.tracks import Tracks
from fmsvc.answers import parse_object
from fmsvc.models import Capabilities, Stats


class AsyncClient:
    """The API of one service, as one account or none. Usable as a context manager; else call `close()`.

    `token`: else FMSVC_TOKEN, the keyring, the file of tokens; empty: none. `api_url`: else FMSVC_API_URL.
    `timeout`: seconds for each network operation. `max_retries`: of reads, after connection errors, 429, 503.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        api_url: str | None = None,
        timeout: float = 30.0,
        user_agent: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        max_retries: int = 2,
    ) -> None:
        self._http = Http(
            token=token,
            api_url=api_url,
            timeout=timeout,
            user_agent=user_agent or f"fmsvc/{__version__}",
            transport=transport,
            max_retries=max_retries,
        )
        self.tracks = Tracks(self._http)
        self.playlists = Playlists(self._http, self.tracks)
        self.albums = Albums(self._http)
        self.artists = Artists(self._http)
        self.tags = Tags(self._http)
        self.discover = Discover(self._http)
        self.comments = Comments(self._http, self.tracks)
        self.publishing = Publishing(self._http, self.tracks)
        self.jobs = Jobs(self._http)
        self.preferences = Preferences(self._http)
        self.session = Session(self._http)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._http.api_url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def me(self) -> dict[str, Any]:
        """The account of the token: `did`, `handle`, `display_name`, `scopes`, `linked_accounts`."""
        return parse_object(await self._http.ask("GET", "auth", "me", signed_in=True))

    async def stats(self) -> Stats:
        """Totals over everything public."""
        return await self._http.get(Stats, "stats")

    async def capabilities(self) -> Capabilities:
        """The audiences that the account may choose."""
        return await self._http.get(Capabilities, "capabilities", signed_in=True)

    async def oembed(
        self, url: str, *, max_width: int | None = None, max_height: int | None = None
    ) -> dict[str, Any]:
        """The oEmbed document of a page's address."""
        query = {"url": url, "maxwidth": max_width, "maxheight": max_height, "format": "json"}
        return parse_object(await self._http.ask("GET", "oembed", query=query))

    async def ready(self) -> dict[str, Any]:
        """How the service is. Raises UnavailableError with the reasons while it is not ready."""
        return parse_object(await self._http.ask("GET", "ready"))
