"""Why somebody may not have a track's audio; whether they may is for `schemas.access` to say. Pure."""

from readapi.errors import ApiError, NotAuthenticated, NotFound, SpaceRefused, SupportRequired
from schemas.access import Access, Viewer, may_download, may_listen

NOT_DOWNLOADED = "The artist does not offer this recording for download."


def check_listening(track: Access, viewer: Viewer | None) -> None:
    """Raises the refusal."""
    if not may_listen(track, viewer):
        raise _not_heard(track, viewer)


def check_download(track: Access, viewer: Viewer | None) -> None:
    """Raises the refusal: whoever may not listen is told that."""
    check_listening(track, viewer)
    if not may_download(track, viewer):
        raise _not_downloaded(track, viewer)


def _not_heard(track: Access, viewer: Viewer | None) -> ApiError:
    match track.listening:
        case "signed_in":
            return NotAuthenticated("Only people who are signed in can listen.")
        case "supporters":
            return _not_supported(viewer, "Only supporters of the artist can listen.")
        case "space":
            return SpaceRefused("This recording is in a private Space, which does not let this service in.")
        case "public" | "owner":
            return NotFound("The artist does not share this recording.")


def _not_downloaded(track: Access, viewer: Viewer | None) -> ApiError:
    match track.downloads:
        case "supporters":
            return _not_supported(viewer, "Only supporters of the artist can download.")
        case "open" | "ask" | "off":
            return NotFound(NOT_DOWNLOADED)


def _not_supported(viewer: Viewer | None, sentence: str) -> ApiError:
    """Of a stranger nobody can know whom they support."""
    return NotAuthenticated(f"{sentence} Sign in first.") if viewer is None else SupportRequired(sentence)
