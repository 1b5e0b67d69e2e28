"""Playlists: list records that anybody may fill with anybody's tracks."""

from typing import Annotated

from pydantic import Field, StringConstraints

from schemas.api.shape import Address, Asked, AskedInParts, Count, DidText, Shape, Time, UriText, Uuid
from schemas.api.tracks import Track
from schemas.fields import AtUriString, CidString
from schemas.records import MAX_ITEMS, TITLE

ListTitle = Annotated[str, StringConstraints(strip_whitespace=True), TITLE]


class Playlist(Shape):
    """A playlist as lists show it."""

    id: Uuid
    name: str
    owner_did: DidText
    owner_handle: str
    owner_display_name: str | None
    track_count: Count
    image_url: Address | None
    show_on_profile: bool
    atproto_record_uri: UriText
    created_at: Time


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in list order."""

    tracks: list[Track]


class RecommendedTrack(Track):
    """A recommended track. `artist_display_name` equals `artist`; clients of this interface read it here."""

    artist_display_name: str


class Recommendations(Shape):
    """Tracks that would go with a playlist. `available`: it holds something that others can be like."""

    tracks: list[RecommendedTrack]
    available: bool


class NewPlaylist(Asked):
    """A playlist to be made. It is on its owner's profile only if asked for."""

    name: ListTitle
    show_on_profile: bool = False


class PlaylistChange(AskedInParts):
    """What to change; what is not given stays."""

    name: ListTitle | None = None
    show_on_profile: bool | None = None


class AddedTrack(Asked):
    """A track to be put at the end, and the version of it that is meant."""

    track_uri: AtUriString
    track_cid: CidString


class Place(Asked):
    """One place in a list."""

    uri: AtUriString
    cid: CidString


class Order(Asked):
    """All that a list holds, in its new order."""

    items: Annotated[list[Place], Field(max_length=MAX_ITEMS)]
