"""Permissions in words: what was granted decides, in whatever way the server wrote it."""

from readapi.oauth import scopes
from readapi.pages.portal.permissions import Permissions
from schemas.collections import SCROBBLING, Collections

COLLECTIONS = Collections()


def test_everything_that_signing_in_asks_for_is_listed() -> None:
    """Each scope once; to sign in at all needs no words."""
    listed = Permissions.of(frozenset(), COLLECTIONS).listed

    assert {permission.scope for permission in listed} | {"atproto"} == set(
        scopes.sign_in_scopes(COLLECTIONS)
    )
    assert len({permission.words for permission in listed}) == len(listed)


def test_a_permission_set_grants_what_is_in_it() -> None:
    """It has the five collections, but no uploads."""
    permissions = Permissions.of(frozenset({"atproto", COLLECTIONS.permission_set}), COLLECTIONS)

    assert [permission.words for permission in permissions.listed if not permission.granted] == [
        "Upload audio and pictures"
    ]
    assert not permissions.complete


def test_scrobbling_stands_apart() -> None:
    """Nothing is missing where nobody turned it on."""
    without = Permissions.of(frozenset(scopes.sign_in_scopes(COLLECTIONS)), COLLECTIONS)
    having = Permissions.of(frozenset((*scopes.sign_in_scopes(COLLECTIONS), SCROBBLING)), COLLECTIONS)

    assert (without.complete, without.scrobbling) == (True, False)
    assert (having.complete, having.scrobbling) == (True, True)
