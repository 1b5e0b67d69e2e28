"""Albums, playlists and tags."""

from typing import Any

from pydantic import model_validator

from fmsvc.mcp.shapes.common import Listed, Page, Shape
from fmsvc.mcp.shapes.tracks import Track
from fmsvc.mcp.text import Untrusted


class Album(Shape):
    """An album as lists show it."""

    id: str
    title: Untrusted
    slug: str
    artist: Untrusted
    artist_handle: str
    track_count: int
    total_plays: int


class Albums(Page):
    """Some albums."""

    albums: list[Album]


class AlbumWithTracks(Album):
    """An album and its tracks, in order."""

    uri: str
    artist_did: str
    description: Untrusted | None
    created_at: str
    tracks: list[Track]

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, told: Any) -> Any:
        return {**told, **told.get("metadata", {})} if isinstance(told, dict) else told


class Playlist(Shape):
    """A playlist."""

    id: str
    name: Untrusted
    owner_did: str
    owner_handle: str
    owner_display_name: Untrusted | None
    track_count: int
    show_on_profile: bool
    created_at: str


class Playlists(Listed):
    """Playlists of one account."""

    playlists: list[Playlist]


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in order."""

    tracks: list[Track]


class Recommendations(Shape):
    """Tracks that go with a playlist. `available`: it holds something that others can be like."""

    tracks: list[Track]
    available: bool


class Tag(Shape):
    """A tag and how much it is used."""

    name: Untrusted
    track_count: int
    total_plays: int


class Tags(Listed):
    """Tags, the most used first."""

    tags: list[Tag]
