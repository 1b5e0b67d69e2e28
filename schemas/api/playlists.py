"""Playlists: list records that anybody may fill with anybody's tracks."""

from schemas.api.shape import Count, Shape, Time, Uuid
from schemas.api.tracks import Track


class Playlist(Shape):
    """A playlist as lists show it."""

    id: Uuid
    name: str
    owner_did: str
    owner_handle: str
    owner_display_name: str | None
    track_count: Count
    image_url: str | None
    show_on_profile: bool
    atproto_record_uri: str
    created_at: Time


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in list order."""

    tracks: list[Track]
