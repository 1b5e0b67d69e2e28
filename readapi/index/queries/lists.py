"""Albums and playlists, and their tracks."""

from typing import Any, Literal

import orjson

from readapi.errors import NotFound, NotOwner
from readapi.index.lookups import Index
from readapi.index.paging import MOST_ROWS, Page, Position
from readapi.index.queries import identifiers, tracks
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.access import Viewer
from schemas.ids import AtUri, Did
from schemas.stored import Card

_SUMMARY = (
    "id",
    "title",
    "slug",
    "artist",
    "artist_handle",
    "track_count",
    "total_plays",
    "image_url",
    "labels",
    "label_details",
)


def find_list(index: Index, kind: Literal["album", "playlist"], name: str) -> Card:
    """The album or playlist with an id or at-uri. Raises NotFound."""
    known = identifiers.resolve_owner(index, name) if name.startswith("at://") else name
    return _require_card(index.find_list(kind, known), kind)


def find_own_list(index: Index, kind: Literal["album", "playlist"], name: str, owner: Did) -> Card:
    """The owner's own album or playlist with an id or at-uri. Raises NotFound and NotOwner."""
    card = find_list(index, kind, name)
    if card.did != owner:
        raise NotOwner(f"This {kind} belongs to another account.")
    return card


def list_uri(card: Card) -> AtUri:
    """The at-uri of an album or playlist."""
    known: dict[str, Any] = orjson.loads(card.card)
    return AtUri.parse(known["atproto_record_uri" if "atproto_record_uri" in known else "uri"])


def album_title(album: Card) -> str:
    """An album's title."""
    return str(orjson.loads(album.card)["title"])


def find_album(index: Index, owner: str, slug: str) -> Card:
    """The album that an artist's address names. Raises NotFound."""
    return _require_card(index.album(owner.removeprefix("@"), slug), "album")


def album_tracks(index: Index, album: Card, viewer: Viewer | None, *, adult: bool = False) -> list[Card]:
    """An album's tracks, in order: the unlisted ones too."""
    return tracks.filter_visible(index.tracks(album.items), viewer, "profile", adult=adult)


def playlist_tracks(
    index: Index, playlist: Card, viewer: Viewer | None, *, adult: bool = False
) -> list[Card]:
    """A playlist's tracks, in order."""
    return tracks.filter_visible(index.tracks(playlist.items), viewer, "discovery", adult=adult)


async def playlists_of(
    index: Index,
    showing: ProfileVisibility,
    did: str,
    viewer: Viewer | None,
    after: Position | None,
    limit: int,
) -> Page[dict[str, Any]]:
    """The playlists of an account that its profile shows to this viewer, newest first; to the owner, all.

    They are read by `limit` at a time until as many are found, or MOST_ROWS were looked at.
    """
    is_own = viewer is not None and viewer.did == did
    found: list[dict[str, Any]] = []
    for _ in range(max(MOST_ROWS // limit, 1)):
        page = index.list_page("playlist", after, limit, artist_did=did)
        told = [orjson.loads(card.card) for card in page.items]
        chosen = await showing.among([playlist["atproto_record_uri"] for playlist in told])
        placed = [add_choice(playlist, chosen.get(playlist["atproto_record_uri"])) for playlist in told]
        found += [playlist for playlist in placed if is_own or playlist["show_on_profile"]]
        after = page.after
        if after is None or len(found) >= limit:
            break
    return Page(found, after)


def add_choice(playlist: dict[str, Any], chosen: bool | None) -> dict[str, Any]:
    """A playlist with its owner's choice whether to show it on their profile, if any."""
    return playlist if chosen is None else {**playlist, "show_on_profile": chosen}


def album_summary(album: Card) -> bytes:
    """An album as lists show it, as JSON."""
    metadata: dict[str, Any] = orjson.loads(album.card)
    return orjson.dumps({name: metadata[name] for name in _SUMMARY})


def _require_card(card: Card | None, kind: str) -> Card:
    if card is None:
        raise NotFound(f"There is no such {kind}.")
    return card
