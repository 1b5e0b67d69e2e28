"""A service is named by the origin that it is reached at."""

import pytest

from schemas.ids import is_did
from schemas.service_identity import service_did, service_document


@pytest.mark.parametrize(
    ("base_url", "did"),
    [
        ("https://music.example", "did:web:music.example"),
        ("https://music.example:8443", "did:web:music.example%3A8443"),
        ("http://127.0.0.1:8000", "did:web:localhost%3A8000"),
        ("http://[::1]:8000", "did:web:localhost%3A8000"),
        ("http://localhost:8000", "did:web:localhost%3A8000"),
    ],
)
def test_the_did_is_the_host_and_a_port(base_url: str, did: str) -> None:
    """A port is for tests: servers of accounts follow none but those of localhost."""
    document = service_document(base_url)

    assert service_did(base_url) == document["id"] == did
    assert is_did(did)
    assert document["service"][0]["serviceEndpoint"] == base_url
