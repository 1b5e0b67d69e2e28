"""What can be embedded: a track, album or playlist with the sizes of its player and its picture."""

from typing import Any

from readapi.cards import Card
from readapi.pages.addresses import Addresses
from readapi.pages.metadata import LIST_SIZE, TRACK_SIZE
from readapi.pages.oembed import Embeddable
from readapi.queries import pages
from readapi.search import Index


def find(index: Index, addresses: Addresses, url: str) -> Embeddable | None:
    """What an address means, if it is one of ours and a stranger may see it."""
    target = addresses.read(url)
    card = pages.find(index, target) if target is not None else None
    return _embeddable(card, addresses) if card is not None else None


def _embeddable(card: Card, addresses: Addresses) -> Embeddable:
    members: Any = pages.members(card)
    if "owner_did" in members:
        return _playlist(members, card, addresses)
    handle, did = members["artist_handle"], members["artist_did"]
    is_track = card.doc.startswith("track:")
    width, height = TRACK_SIZE if is_track else LIST_SIZE
    return Embeddable(
        title=members["title"],
        author=members["artist"],
        author_page=addresses.artist(handle, did),
        player=addresses.track_player(members["id"])
        if is_track
        else addresses.album_player(handle, did, members["slug"]),
        width=width,
        height=height,
        image_url=members["image_url"],
        image_size=card.thumb,
    )


def _playlist(members: Any, card: Card, addresses: Addresses) -> Embeddable:
    width, height = LIST_SIZE
    return Embeddable(
        title=members["name"],
        author=members["owner_display_name"] or members["owner_handle"],
        author_page=addresses.artist(members["owner_handle"], members["owner_did"]),
        player=addresses.playlist_player(members["id"]),
        width=width,
        height=height,
        image_url=members["image_url"],
        image_size=card.thumb,
    )
