"""Playlists: list records that can hold any artist's tracks."""

from typing import Annotated

from pydantic import Field, StringConstraints

from schemas.api.labels import LabelDetail
from schemas.api.shape import Address, Asked, AskedInParts, Count, DidText, Shape, Time, UriText, Uuid
from schemas.api.tracks import Track
from schemas.fields import AtUriString, CidString
from schemas.records import MAX_ITEMS, TITLE

ListTitle = Annotated[str, StringConstraints(strip_whitespace=True), TITLE]


class Playlist(Shape):
    """A playlist as it appears in lists."""

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
    labels: list[str] = Field(description="The values of `label_details`, each once.")
    label_details: list[LabelDetail] = Field(description="Who says what of the playlist or its owner.")


class PlaylistWithTracks(Playlist):
    """A playlist and its tracks, in list order."""

    tracks: list[Track]


class RecommendedTrack(Track):
    """A recommended track. `artist_display_name` equals `artist`, for older clients."""

    artist_display_name: str


class Recommendations(Shape):
    """Tracks that fit a playlist. `available`: whether the playlist has tracks to base recommendations on."""

    tracks: list[RecommendedTrack]
    available: bool


class NewPlaylist(Asked):
    """A new playlist. The owner's profile shows it only if requested."""

    name: ListTitle
    show_on_profile: bool = False


class PlaylistChange(AskedInParts):
    """Changes to a playlist: absent members stay."""

    name: ListTitle | None = None
    show_on_profile: bool | None = None


class AddedTrack(Asked):
    """A track to append, in the version that is meant."""

    track_uri: AtUriString
    track_cid: CidString


class Place(Asked):
    """One item of a list."""

    uri: AtUriString
    cid: CidString


class Order(Asked):
    """All items of a list, in their new order."""

    items: Annotated[list[Place], Field(max_length=MAX_ITEMS)]
