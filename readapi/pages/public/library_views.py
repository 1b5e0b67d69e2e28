"""Template variables of the pages of the signed-in account's library."""

from collections.abc import Sequence

from readapi.pages import text
from readapi.pages.public import metadata
from readapi.pages.public.player import make_player_track
from readapi.pages.public.views import View, first_playable, onward
from readapi.pages.urls import Addresses
from schemas.api.artists import Artist
from schemas.api.playlists import Playlist
from schemas.api.tracks import Track


def of_liked(found: Sequence[Track], total: int, after: str | None, addresses: Addresses) -> View:
    """For the tracks that the account likes; `after` leads to those it liked before."""
    sounds = [make_player_track(track, addresses) for track in found]
    address = addresses.page("/liked")
    return {
        "head": metadata.of_page("Liked", "The tracks that you like.", address, indexed=False),
        "title": "Liked",
        "count": text.format_count(total, "track"),
        "sounds": sounds,
        "first": first_playable(sounds),
        "older": onward(after),
        "empty": "You like no track yet.",
        "choice": addresses.page("/portal/profile#likes"),
    }


def of_likes(
    artist: Artist, found: Sequence[Track], total: int, after: str | None, addresses: Addresses
) -> View:
    """For the tracks that an account likes, as others see them."""
    sounds = [make_player_track(track, addresses) for track in found]
    name = artist.display_name or artist.handle
    address = f"{addresses.artist(artist.handle, artist.did)}/likes"
    return {
        "head": metadata.of_page(f"Liked by {name}", f"Tracks that {name} likes.", address, indexed=False),
        "title": f"Liked by {name}",
        "count": text.format_count(total, "track"),
        "sounds": sounds,
        "first": first_playable(sounds),
        "older": onward(after),
        "empty": f"{name} likes no track yet.",
    }


def of_playlists(found: Sequence[Playlist], after: str | None, addresses: Addresses) -> View:
    """For the account's playlists; `after` leads to older ones."""
    head = metadata.of_page("Your playlists", "Your playlists.", addresses.page("/playlists"), indexed=False)
    return {"head": head, "playlists": found, "older": onward(after)}


def of_playlist(
    playlist: Playlist, found: Sequence[Track], fitting: Sequence[Track], addresses: Addresses
) -> View:
    """For changing a playlist. `fitting`: tracks that may be added."""
    address = addresses.page(f"/playlists/{playlist.id}")
    head = metadata.of_page(f"Change {playlist.name}", "One of your playlists.", address, indexed=False)
    return {"head": head, "playlist": playlist, "tracks": found, "fitting": fitting}
