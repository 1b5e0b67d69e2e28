"""URLs of pictures, as records name them: the CID is read from those of blobs, however they are written."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import is_cid
from schemas.pictures import blob_url, picture_of

CID = "bafkreihltcnuuyqp2jm24aqydpnlj7b6w3ogwrplomrjtg5rifv44mmjey"
DID = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
GET_BLOB = "/xrpc/com.atproto.sync.getBlob"


@pytest.mark.parametrize(
    "pds", ["https://pds.example", "http://127.0.0.1:2583", "https://[2001:db8::1]:8443"]
)
@pytest.mark.parametrize("did", [DID, "did:web:example.com%3A8443"])
def test_it_reads_what_blob_url_writes(pds: str, did: str) -> None:
    assert picture_of(blob_url(pds, did, CID)) == CID


@pytest.mark.parametrize(
    "url",
    [
        None,
        "https://example.com/cover.png",
        f"https://pds.example/other?cid={CID}&of={GET_BLOB}",
        f"https://pds.example{GET_BLOB}?did={DID}&cid=bafy",
        f"https://pds.example{GET_BLOB}?did={DID}#&cid={CID}",
        f"https://pds.example{GET_BLOB}/more?did={DID}&cid={CID}",
        f"https://[pds.example{GET_BLOB}?did={DID}&cid={CID}",
    ],
)
def test_other_urls_name_no_picture_of_a_blob(url: str | None) -> None:
    assert picture_of(url) is None


PIECES = st.sampled_from(
    [
        *("https://", "http://", "//", "pds.example", ":2583", "[::1]", "[", "]", "@", "\u2100", "\t", " "),
        *(
            "/",
            GET_BLOB,
            "?",
            "&",
            "#",
            ";",
            "=",
            "%26",
            "+",
            "did=",
            "cid=",
            "&cid=",
            "?did=",
            DID,
            CID,
            CID[:-1],
            "x",
        ),
        f"{GET_BLOB}?did={DID}&cid={CID}",
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_it_reads_urls_as_the_standard_library_does(url: str) -> None:
    """In one pass over those that are written as most are."""
    assert picture_of(url) == in_several_passes(url)


def in_several_passes(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    named = parse_qs(parts.query).get("cid", [])
    return named[0] if parts.path.endswith(GET_BLOB) and named and is_cid(named[0]) else None
