"""Addresses: what is written can be read back, and nothing of anybody else's is taken for ours."""

import pytest

from readapi.pages.urls import Addresses, AlbumAddress, ArtistAddress, PlaylistPage, RecordPage, TrackAddress
from schemas.ids import checked_id
from tests.readapi.pages.examples import ADDRESSES, BASE_URL, DID, LIST_ID, track

RECORD = f"at://{DID}/fm.svc.track/3kabcdefghijk"


@pytest.mark.parametrize(
    ("address", "target"),
    [
        (ADDRESSES.track(RECORD), TrackAddress(checked_id(RECORD))),
        (ADDRESSES.track_player(RECORD), TrackAddress(checked_id(RECORD))),
        (
            ADDRESSES.album("mara.example", DID, "über-uns/zwei"),
            AlbumAddress("mara.example", "über-uns/zwei"),
        ),
        (ADDRESSES.album("handle.invalid", DID, "x"), AlbumAddress(DID, "x")),
        (ADDRESSES.album_player("mara.example", DID, "雨"), AlbumAddress("mara.example", "雨")),
        (ADDRESSES.artist("mara.example", DID), ArtistAddress("mara.example")),
        (ADDRESSES.artist_player("handle.invalid", DID), ArtistAddress(DID)),
        (ADDRESSES.playlist(LIST_ID), PlaylistPage(LIST_ID)),
        (ADDRESSES.playlist_player(LIST_ID), PlaylistPage(LIST_ID)),
    ],
)
def test_every_address_that_is_written_can_be_read_back(address, target):
    """Pages and players name the same thing."""
    assert ADDRESSES.read(address) == target


@pytest.mark.parametrize(
    "variant",
    [
        f"{BASE_URL}/track/7/",
        f"{BASE_URL}/track/7?utm_source=feed&x=%2F",
        f"{BASE_URL}/track/7#t=30",
        f"{BASE_URL}:443/track/7",
        "http://music.example/track/7",
        "https://MUSIC.example./track/7",
        f"  {BASE_URL}//track/7\n",
        f"{BASE_URL}/%74rack/%37",
        f"{BASE_URL}/tra\nck/7",
        f"{BASE_URL}/track/7#?/8",
        "https%3A%2F%2Fmusic.example%2Ftrack%2F7",
        "https://app.example/track/7",
    ],
)
def test_variants_that_people_paste_mean_the_same_track(variant):
    """Slashes, queries, fragments, ports, schemes and encodings do not matter; both of our origins do."""
    assert Addresses(BASE_URL, "https://app.example").read(variant) == TrackAddress("7")


@pytest.mark.parametrize("written", [RECORD, f"{RECORD}/", f"{RECORD}#t=3", f"{RECORD}?x"])
def test_records_can_be_named_by_their_uri(written):
    """An at-uri stands for the page of its record."""
    assert ADDRESSES.read(written) == RecordPage(RECORD)


def test_a_path_may_hold_a_uri():
    """Percent-encoded, as anything that takes an id does."""
    assert ADDRESSES.read(f"{BASE_URL}/track/{RECORD.replace('/', '%2F')}") == TrackAddress(RECORD)


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "track/7",
        "https://elsewhere.example/track/7",
        "https://music.example.elsewhere.example/track/7",
        "https://music.example@elsewhere.example/track/7",
        "https://user@music.example/track/7",
        "https://music.example:8443/track/7",
        "ftp://music.example/track/7",
        "javascript://music.example/track/7",
        "https://[::1/track/7",
        "https://music.example:notaport/track/7",
        f"{BASE_URL}/",
        f"{BASE_URL}/track",
        f"{BASE_URL}/track/7/extra",
        f"{BASE_URL}/embed",
        "\0",
    ],
)
def test_everything_else_is_not_ours(foreign):
    """Foreign hosts, other pages and nonsense lead nowhere."""
    assert ADDRESSES.read(foreign) is None


def test_an_artist_whose_handle_does_not_hold_is_addressed_by_did():
    """`handle.invalid` names nobody in particular."""
    nameless = track(artist_handle="handle.invalid")

    assert ADDRESSES.artist_of(nameless) == f"{BASE_URL}/u/{DID}"
