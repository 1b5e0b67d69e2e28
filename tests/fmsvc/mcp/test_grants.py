"""Which tools that write a token offers."""

import pytest

from fmsvc.mcp.grants import _written, may_write


@pytest.mark.parametrize(
    ("scopes", "likes", "tracks"),
    [
        ([], False, False),
        (["atproto", "blob:*/*"], False, False),
        (["repo:fm.svc.like"], True, False),
        (["repo:other.name.track"], False, True),
        (["repo:fm.svc.like?action=create&action=delete"], True, False),
        (["repo:fm.svc.like?action=delete"], False, False),
        (["repo?collection=fm.svc.like&collection=fm.svc.track"], True, True),
        (["repo:*"], True, True),
        (["transition:generic"], True, True),
        (["include:fm.svc.authFull"], True, True),
        (["repo:fm.svc.comment", "blob:like"], False, False),
    ],
)
def test_scopes_are_read_as_the_protocol_writes_them(scopes, likes, tracks):
    """In every form; what cannot be known is left to the API."""
    written = frozenset(_written(scopes))

    assert (may_write(written, "like"), may_write(written, "track")) == (likes, tracks)
