"""The client: one connection pool, and a namespace for each kind of resource."""

from typing import Any, Self

import httpx2

from fmsvc import __version__
from fmsvc._sync.account import Preferences, Session
from fmsvc._sync.albums import Albums
from fmsvc._sync.artists import Artists
from fmsvc._sync.comments import Comments
from fmsvc._sync.discover import Discover, Tags
from fmsvc._sync.http import Http
from fmsvc._sync.playlists import Playlists
from fmsvc._sync.publishing import Jobs, Publishing
from fmsvc._sync.tracks import Tracks
from fmsvc.answers import parse_object
from fmsvc.models import Capabilities, Stats


class Client:
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
        transport: httpx2.BaseTransport | None = None,
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def me(self) -> dict[str, Any]:
        """The account of the token: `did`, `handle`, `display_name`, `scopes`, `linked_accounts`."""
        return parse_object(self._http.ask("GET", "auth", "me", signed_in=True))

    def stats(self) -> Stats:
        """Totals over everything public."""
        return self._http.get(Stats, "stats")

    def capabilities(self) -> Capabilities:
        """The audiences that the account may choose."""
        return self._http.get(Capabilities, "capabilities", signed_in=True)

    def oembed(
        self, url: str, *, max_width: int | None = None, max_height: int | None = None
    ) -> dict[str, Any]:
        """The oEmbed document of a page's address."""
        query = {"url": url, "maxwidth": max_width, "maxheight": max_height, "format": "json"}
        return parse_object(self._http.ask("GET", "oembed", query=query))

    def ready(self) -> dict[str, Any]:
        """How the service is. Raises UnavailableError with the reasons while it is not ready."""
        return parse_object(self._http.ask("GET", "ready"))
