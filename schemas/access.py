"""Who may see, hear and download a track. Pure: the only place where access is decided."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from schemas.ids import Did
from schemas.label_policy import Effect
from schemas.spaces import Space

Listening = Literal["public", "signed_in", "supporters", "owner", "space"]
Downloads = Literal["open", "ask", "supporters", "off"]
Visibility = Literal["public", "unlisted", "private"]
Place = Literal["discovery", "profile", "search", "direct"]

LISTENING: tuple[str, ...] = get_args(Listening)
DOWNLOADS: tuple[str, ...] = get_args(Downloads)
VISIBILITY: tuple[str, ...] = get_args(Visibility)


@dataclass(frozen=True, slots=True)
class Access:
    """A track's access settings and its artist.

    `labelled`: what follows from its labels. `space`: the private Space it is in.
    """

    artist: Did
    listening: Listening = "public"
    downloads: Downloads = "open"
    visibility: Visibility = "public"
    labelled: Effect = "none"
    space: Space | None = None


@dataclass(frozen=True, slots=True)
class Viewer:
    """A signed-in account, the artists that it supports, and the Space that admitted it."""

    did: Did
    supported: frozenset[Did] = field(default_factory=frozenset)
    admitted: Space | None = None


def may_see(track: Access, viewer: Viewer | None, place: Place, *, adult: bool = False) -> bool:
    """May this viewer see the track's metadata in this place?

    `discovery` is every list that is not of one artist: newest, top, tags, other accounts' lists.
    `adult`: the viewer asks for what is labelled as for adults, too.
    """
    if viewer is not None and viewer.did == track.artist:
        return True
    if track.labelled == "hidden" or (track.labelled == "adult" and place != "direct" and not adult):
        return False
    match track.visibility:
        case "public":
            return True
        case "unlisted":
            return place != "discovery"
        case "private":
            return _is_let_in(track, viewer)


def may_listen(track: Access, viewer: Viewer | None) -> bool:
    """May this viewer hear the track? In a Space only the Space itself decides."""
    if viewer is not None and viewer.did == track.artist:
        return True
    if not may_see(track, viewer, "direct"):
        return False
    match track.listening:
        case "public":
            return True
        case "signed_in":
            return viewer is not None
        case "supporters":
            return viewer is not None and track.artist in viewer.supported
        case "space":
            return _is_let_in(track, viewer)
        case "owner":
            return False


def may_download(track: Access, viewer: Viewer | None) -> bool:
    """May this viewer fetch the original? Implies that they may listen."""
    if viewer is not None and viewer.did == track.artist:
        return True
    if not may_listen(track, viewer):
        return False
    match track.downloads:
        case "open" | "ask":
            return True
        case "supporters":
            return viewer is not None and track.artist in viewer.supported
        case "off":
            return False


def _is_let_in(track: Access, viewer: Viewer | None) -> bool:
    """Did the track's Space admit this viewer?"""
    return viewer is not None and track.space is not None and track.space == viewer.admitted
