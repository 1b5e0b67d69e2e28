"""Queries are asked with their parameters in the address; refusals are understood by their names."""

import pytest

from indexer.network import xrpc
from indexer.network.http.client import Answered, Outbound
from indexer.network.identity.dns import Dns
from indexer.network.xrpc import BadAnswer
from tests.network.doubles import Pages

DID = "did:web:localhost%3A2583"


def refusal(status: int, body: bytes) -> Answered:
    return Answered(status, body)


def test_parameters_are_quoted_and_sequences_repeated() -> None:
    url = xrpc.query_url("https://pds.example.com", "com.atproto.sync.getBlocks", did=DID, cids=["a", "b&c"])

    assert url == (
        "https://pds.example.com/xrpc/com.atproto.sync.getBlocks"
        "?did=did%3Aweb%3Alocalhost%253A2583&cids=a&cids=b%26c"
    )


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"7", b"null", b'{"a":'])
async def test_an_answer_that_is_no_object_is_a_bad_answer(body: bytes) -> None:
    async with Pages() as server, Outbound(Dns(), allow_loopback=True) as outbound:
        server.answers["/xrpc/a.b.c?did=x"] = (200, body)
        with pytest.raises(BadAnswer):
            await xrpc.run_query(outbound, server.url, "a.b.c", 100, 5, did="x")

        server.answers["/xrpc/a.b.c?did=x"] = (200, b'{"rev": "r"}')
        assert await xrpc.run_query(outbound, server.url, "a.b.c", 100, 5, did="x") == {"rev": "r"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"error":"RepoNotFound","message":"Could not find repo"}', "deleted"),
        (b'{"message": "x", "error" : "RepoTakendown"', "takendown"),
        (b'{"error":"RepoSuspended"}', "suspended"),
        (b'{"error":"RepoDeactivated"}', "deactivated"),
    ],
)
def test_a_repo_that_is_not_shown_has_a_state(body: bytes, status: str) -> None:
    """Even when the message is so long that the answer was cut."""
    gone = xrpc.gone_state(refusal(400, body))

    assert gone is not None
    assert gone.status == status


@pytest.mark.parametrize("body", [b"", b'{"error":"InvalidRequest"}', b'{"error":null}', b"\xff\x00"])
def test_other_refusals_say_nothing_of_the_repo(body: bytes) -> None:
    assert xrpc.gone_state(refusal(400, body)) is None


@pytest.mark.parametrize(
    ("status", "body", "lacking"),
    [
        (404, b"", True),
        (405, b"", True),
        (501, b'{"error":"MethodNotImplemented"}', True),
        (400, b'{"error":"MethodNotImplemented"}', True),
        (401, b'{"error":"AuthMissing"}', True),
        (400, b'{"error":"InvalidRequest"}', False),
        (429, b"", False),
        (503, b"", False),
    ],
)
def test_a_method_that_a_server_does_not_have_is_told_from_a_failure(
    status: int, body: bytes, lacking: bool
) -> None:
    assert xrpc.is_lacking(refusal(status, body)) is lacking
