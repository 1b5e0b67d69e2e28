"""Addresses in Spaces are told from public ones, and read back as they are written."""

import pytest

from schemas import spaces
from schemas.ids import AtUri, Did, Nsid, Rkey
from schemas.spaces import InSpace, Space, is_in_space

MARA, BEN = Did("did:plc:mara"), Did("did:web:ben.example")
SPACE = "at://did:plc:mara/space/fm.svc.privateTracks/self"
TRACK = f"{SPACE}/did:web:ben.example/fm.svc.track/3kaaaaaaaaa22"


def test_an_address_names_space_author_and_record() -> None:
    """The author need not be whose Space it is."""
    track = spaces.parse_address(TRACK)

    space = Space.own(MARA, Nsid("fm.svc.privateTracks"))
    assert track == InSpace(BEN, Nsid("fm.svc.track"), Rkey("3kaaaaaaaaa22"), space)
    assert (str(track), str(space)) == (TRACK, SPACE)
    assert is_in_space(TRACK)


def test_a_public_address_is_in_no_space() -> None:
    public = spaces.parse_address("at://did:plc:mara/fm.svc.track/3kaaaaaaaaa22")

    assert type(public) is AtUri
    assert not is_in_space(str(public))


@pytest.mark.parametrize(
    "text",
    [
        "",
        SPACE,
        TRACK.removeprefix("at://"),
        TRACK.replace("at://", "https://"),
        TRACK.replace("/space/", "/spaces/"),
        TRACK.replace("did:plc:mara", "mara.example"),
        TRACK.replace("did:web:ben.example", "ben.example"),
        TRACK.replace("fm.svc.privateTracks", "private"),
        TRACK.replace("/self/", "/../"),
        TRACK.replace("3kaaaaaaaaa22", "a b"),
        f"{TRACK}/more",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert not is_in_space(text)
    with pytest.raises(ValueError, match=r"at-uri|address"):
        spaces.parse_address(text)
