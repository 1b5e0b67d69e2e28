"""Which hosts and origins requests to /mcp may name."""

import pytest

from readapi.errors import ForeignOrigin
from readapi.mcp.origins import Origins
from schemas.settings import Settings

LOCAL = Settings()
PUBLIC = Settings(
    public_url="https://music.example.com",
    web_url="https://app.example.com",
    host="0.0.0.0",
    mcp_hosts="Inner.example:9000",
    mcp_origins="https://chat.example, http://Tool.example:3000",
)


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        (LOCAL, "127.0.0.1:8000", None),
        (LOCAL, "localhost:8000", "http://localhost:8000"),
        (LOCAL, "[::1]:8000", "http://[::1]:8000"),
        (PUBLIC, "music.example.com", "https://music.example.com"),
        (PUBLIC, "Music.Example.com", "https://app.example.com"),
        (PUBLIC, "music.example.com:443", None),
        (PUBLIC, "127.0.0.1:8000", None),
        (PUBLIC, "inner.example:9000", "https://chat.example"),
        (PUBLIC, "music.example.com", "http://tool.example:3000"),
    ],
)
def test_own_names_and_chosen_pages_are_let_through(settings, host, origin):
    """The public address with and without its port, this machine's names, and what settings add."""
    Origins(settings).check({"Host": host} | ({} if origin is None else {"Origin": origin}))


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        (LOCAL, "evil.example:8000", None),
        (LOCAL, "localhost:8000.evil.example", None),
        (LOCAL, "", None),
        (LOCAL, "localhost:8000", "http://evil.example:8000"),
        (LOCAL, "localhost:8000", "null"),
        (LOCAL, "localhost:8000", "http://localhost:3000"),
        (PUBLIC, "music.example.com", "http://music.example.com"),
        (PUBLIC, "app.example.com", None),
        (PUBLIC, "music.example.com.evil.example", None),
    ],
)
def test_everything_else_is_refused(settings, host, origin):
    """Names that only begin or end like ours, pages on other ports, pages without an origin."""
    with pytest.raises(ForeignOrigin, match="FMSVC_MCP_"):
        Origins(settings).check({"Host": host} | ({} if origin is None else {"Origin": origin}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"mcp_origins": "chat.example"},
        {"mcp_origins": "https://chat.example/page"},
        {"mcp_origins": "https://user@chat.example"},
        {"mcp_origins": "null"},
        {"mcp_hosts": "https://chat.example"},
    ],
)
def test_settings_that_could_never_match_are_refused(wrong):
    """At the start, not by requests that are refused for no reason to be seen."""
    with pytest.raises(ValueError, match="is not"):
        Settings(**wrong)
