"""Protection against DNS rebinding: which Host and Origin headers requests to `/mcp` may carry. Pure.

Another site can make its name resolve to this machine, so that its pages send requests here as if to its own
server. Such requests carry that name as their Host
(https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning).
The library's own check does the same, but logs each foreign header as it came.
"""

from collections.abc import Mapping

from yarl import URL

from readapi.errors import ForeignOrigin
from schemas.settings import Settings

_HERE = ("localhost", "127.0.0.1", "[::1]")
_HOST = "Requests to /mcp name this service as their Host; FMSVC_MCP_HOSTS adds further names."
_ORIGIN = "Pages of this origin may not use /mcp; FMSVC_MCP_ORIGINS adds further ones."


class Origins:
    """The names of this service, and the origins of pages that may use `/mcp`."""

    def __init__(self, settings: Settings) -> None:
        public = URL(settings.base_url)
        ports = {settings.port, public.port}
        here = {f"{name}:{port}" for name in (*_HERE, settings.host) for port in ports}
        self._hosts = {_authority(public), f"{public.host}:{public.port}", *here, *_HERE, *settings.mcp_hosts}
        pages = [url for url in (settings.base_url, settings.web_url) if url is not None]
        self._origins = {
            *(f"http://{name}" for name in here),
            *(str(URL(url).origin()) for url in pages),
            *settings.mcp_origins,
        }

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse a request whose Host is none of ours, or whose page may not use it. Raises ForeignOrigin."""
        if headers.get("Host", "").lower() not in self._hosts:
            raise ForeignOrigin(_HOST)
        origin = headers.get("Origin")
        if origin is not None and origin.lower() not in self._origins:
            raise ForeignOrigin(_ORIGIN)


def _authority(url: URL) -> str:
    """Host and port, without the scheme's default port, as clients write them."""
    return str(url.origin()).partition("://")[2].lower()
