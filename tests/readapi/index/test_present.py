"""Cards get the members that depend on who asks."""

import orjson
import pytest

from readapi.index import present
from schemas import stored
from schemas.access import Access, Viewer
from schemas.ids import Did
from schemas.stored import Card

BASE = "https://music.example"
ARTIST = Did("did:plc:artist")


def card(access: Access) -> Card:
    policy = f"{access.listening} {access.downloads} {access.visibility}".encode()
    packed = stored.pack_document(
        {"doc": "track:7", "did": access.artist, "access": policy, "address": b"1-a", "card": b'{"id":1'}
    )
    return Card(memoryview(packed), BASE)


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
    """And where to hear it, under an older name only where this viewer may."""
    is_liked, gated, downloadable = expected
    liked = {7} if viewer == Viewer(Did("did:plc:liker")) else {8}

    assert orjson.loads(present.join_parts(present.render_track(card(access), viewer, liked))) == {
        "id": 1,
        "stream_url": f"{BASE}/tracks/1-a/stream",
        "r2_url": None if gated else f"{BASE}/tracks/1-a/stream",
        "is_liked": is_liked,
        "gated": gated,
        "downloadable": downloadable,
    }


def test_what_is_kept_for_strangers_is_shown_to_no_viewer():
    """Nor what a viewer sees to strangers, whoever asks first."""
    shared, fan = card(Access(ARTIST, listening="signed_in")), Viewer(Did("did:plc:fan"))

    def render(viewer):
        return present.render_tracks([shared, shared], viewer, {7} if viewer else ())

    first, seen, again = render(None), render(fan), render(None)

    assert [track["gated"] for track in orjson.loads(present.join_parts(first))] == [True, True]
    assert [track["gated"] for track in orjson.loads(present.join_parts(seen))] == [False, False]
    assert (again.body, again.tag) == (first.body, first.tag)
    assert seen.tag != first.tag


def test_a_list_is_its_items_joined():
    """Nothing is parsed."""
    assert present.render_array([]) == b"[]"
    assert present.render_array([b"1", b'"a"']) == b'[1,"a"]'
    assert present.join_parts(present.render_object(a=b"1", b=b"[]")) == b'{"a":1,"b":[]}'
