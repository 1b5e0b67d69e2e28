"""Accounts, and totals over all of them."""

from fmsvc.mcp.shapes.common import Shape
from fmsvc.mcp.text import Untrusted


class Artist(Shape):
    """An account that publishes."""

    did: str
    handle: str
    display_name: Untrusted | None
    bio: Untrusted | None
    support_url: str | None


class Stats(Shape):
    """Totals over everything that is visible."""

    total_plays: int
    total_tracks: int
    total_artists: int
    total_duration_seconds: int
    total_likes: int
    total_comments: int
    total_albums: int
    total_playlists: int
    as_of: str
