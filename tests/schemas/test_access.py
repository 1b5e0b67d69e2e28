"""Access is decided by one table: every audience, every viewer, every place."""

import itertools

import pytest

from schemas.access import (
    DOWNLOADS,
    LISTENING,
    VISIBILITY,
    Access,
    Viewer,
    may_download,
    may_listen,
    may_see,
)
from schemas.ids import Did

ARTIST = Did("did:plc:artist")
OWNER = Viewer(ARTIST)
STRANGER = Viewer(Did("did:plc:stranger"))
SUPPORTER = Viewer(Did("did:plc:supporter"), frozenset((ARTIST,)))

HEARS = {
    "public": (True, True, True, True),
    "signed_in": (False, True, True, True),
    "supporters": (False, False, True, True),
    "owner": (False, False, False, True),
    "space": (False, False, False, True),
}
FETCHES = {
    "open": (True, True, True, True),
    "ask": (True, True, True, True),
    "supporters": (False, False, True, True),
    "off": (False, False, False, True),
}
MEETS = {
    ("public", "discovery"): True,
    ("public", "profile"): True,
    ("public", "search"): True,
    ("public", "direct"): True,
    ("unlisted", "discovery"): False,
    ("unlisted", "profile"): True,
    ("unlisted", "search"): True,
    ("unlisted", "direct"): True,
    ("private", "discovery"): False,
    ("private", "profile"): False,
    ("private", "search"): False,
    ("private", "direct"): False,
}
VIEWERS = (None, STRANGER, SUPPORTER, OWNER)


def test_the_tables_cover_every_value() -> None:
    """A new audience fails here until somebody decides about it."""
    assert set(HEARS) == set(LISTENING)
    assert set(FETCHES) == set(DOWNLOADS)
    assert {visibility for visibility, _ in MEETS} == set(VISIBILITY)


@pytest.mark.parametrize(("listening", "allowed"), HEARS.items())
def test_listening(listening: str, allowed: tuple[bool, ...]) -> None:
    """Nobody, a stranger, a supporter and the owner, in that order."""
    track = Access(ARTIST, listening=listening)

    assert tuple(may_listen(track, viewer) for viewer in VIEWERS) == allowed


@pytest.mark.parametrize(("downloads", "allowed"), FETCHES.items())
def test_downloads_of_a_public_track(downloads: str, allowed: tuple[bool, ...]) -> None:
    """`ask` only shows a prompt."""
    track = Access(ARTIST, downloads=downloads)

    assert tuple(may_download(track, viewer) for viewer in VIEWERS) == allowed


@pytest.mark.parametrize(("case", "allowed"), MEETS.items())
def test_metadata(case: tuple[str, str], allowed: bool) -> None:
    """Unlisted is on profiles and in search; private is the owner's alone."""
    visibility, place = case
    track = Access(ARTIST, visibility=visibility)

    assert [may_see(track, viewer, place) for viewer in (None, STRANGER, SUPPORTER)] == [allowed] * 3
    assert may_see(track, OWNER, place)


def test_no_download_without_listening() -> None:
    """Whoever may not hear a track never gets its original."""
    for listening, downloads, visibility in itertools.product(LISTENING, DOWNLOADS, VISIBILITY):
        track = Access(ARTIST, listening, downloads, visibility)
        for viewer in VIEWERS:
            assert may_listen(track, viewer) or not may_download(track, viewer)
