"""Cards get the members that depend on who asks."""

import orjson
import pytest

from readapi import present
from schemas import stored
from schemas.access import Access, Viewer
from schemas.ids import Did
from schemas.stored import Card

ARTIST = Did("did:plc:artist")


def card(access: Access) -> Card:
    policy = f"{access.listening} {access.downloads} {access.visibility}".encode()
    packed = stored.pack({"doc": "track:7", "did": access.artist, "access": policy, "card": b'{"id":1'})
    return Card(memoryview(packed))


@pytest.mark.parametrize(
    ("access", "viewer", "expected"),
    [
        (Access(ARTIST), None, (False, False, True)),
        (Access(ARTIST), Viewer(Did("did:plc:liker")), (True, False, True)),
        (Access(ARTIST, listening="signed_in"), None, (False, True, False)),
        (Access(ARTIST, listening="signed_in"), Viewer(Did("did:plc:fan")), (False, False, True)),
        (Access(ARTIST, downloads="off"), None, (False, False, False)),
        (Access(ARTIST, listening="owner", downloads="off"), Viewer(ARTIST), (False, False, True)),
    ],
)
def test_a_track_says_what_this_viewer_may_do(access, viewer, expected):
    """`is_liked`, `gated` and `downloadable` complete the card."""
    is_liked, gated, downloadable = expected
    liked = {7} if viewer == Viewer(Did("did:plc:liker")) else {8}

    assert orjson.loads(present.together(present.track(card(access), viewer, liked))) == {
        "id": 1,
        "is_liked": is_liked,
        "gated": gated,
        "downloadable": downloadable,
    }


def test_a_list_is_its_items_joined():
    """Nothing is parsed."""
    assert present.array([]) == b"[]"
    assert present.array([b"1", b'"a"']) == b'[1,"a"]'
    assert present.together(present.record(a=b"1", b=b"[]")) == b'{"a":1,"b":[]}'
