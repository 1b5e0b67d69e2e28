"""What was granted decides, however a server writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readapi.oauth import scopes
from schemas.collections import ATPROTO, BLOBS, SCROBBLING, Collections

FM = Collections()
ALL_IN_ONE = "repo?" + "&".join(
    f"collection=fm.svc.{name}" for name in ("actor.profile", "comment", "like", "list", "track")
)


def covers(granted: str, wanted: str) -> bool:
    return scopes.covers(frozenset(granted.split()), wanted, FM)


def test_signing_in_asks_for_no_more_than_it_needs() -> None:
    """Scrobbling and private Spaces are asked for when somebody wants them."""
    assert scopes.sign_in_scopes(FM) == (
        "atproto",
        "repo:fm.svc.track",
        "repo:fm.svc.like",
        "repo:fm.svc.comment",
        "repo:fm.svc.list",
        "repo:fm.svc.actor.profile",
        "blob:*/*",
    )
    assert set(scopes.all_scopes(FM)) - set(scopes.sign_in_scopes(FM)) == {
        "repo:fm.scrobbler.feed.play",
        "include:fm.svc.authFullApp",
        "space:fm.svc.privateTracks?authority=*&collection=fm.svc.track&manage=create",
    }


@pytest.mark.parametrize(
    ("granted", "wanted"),
    [
        (ATPROTO, ATPROTO),
        ("repo:fm.svc.track", "repo:fm.svc.track"),
        ("repo:*", "repo:fm.svc.track"),
        ("repo?collection=*", SCROBBLING),
        (ALL_IN_ONE, "repo:fm.svc.track"),
        (ALL_IN_ONE, "include:fm.svc.authFullApp"),
        ("include:fm.svc.authFullApp", "repo:fm.svc.actor.profile"),
        ("repo:fm.svc.like?action=create&action=update&action=delete", "repo:fm.svc.like"),
        ("repo:fm.svc.like?action=create repo:fm.svc.like?action=delete", "repo:fm.svc.like?action=delete"),
        ("repo:fm.svc.like", "repo?collection=fm.svc.like&action=create"),
        ("blob:*/*", BLOBS),
        ("blob?accept=*/*", BLOBS),
        ("blob?accept=image/*&accept=audio/*", "blob:audio/mpeg"),
        ("blob:audio/mpeg", "blob:audio/mpeg"),
        ("transition:generic", "repo:fm.svc.track"),
        ("transition:generic", BLOBS),
    ],
)
def test_this_is_enough(granted: str, wanted: str) -> None:
    assert covers(granted, wanted)


@pytest.mark.parametrize(
    ("granted", "wanted"),
    [
        ("", ATPROTO),
        ("transition:generic", ATPROTO),
        ("repo:fm.svc.track", "repo:fm.svc.like"),
        ("repo:fm.svc.tracks", "repo:fm.svc.track"),
        ("repo:fm.svc.*", "repo:fm.svc.track"),
        ("repo:fm.svc.like?action=create", "repo:fm.svc.like"),
        ("rpc:fm.svc.track", "repo:fm.svc.track"),
        ("include:fm.svc.dev.authFullApp", "repo:fm.svc.track"),
        ("include:fm.svc.authFullApp", BLOBS),
        ("include:fm.svc.authFullApp", SCROBBLING),
        ("repo:fm.svc.track", "include:fm.svc.authFullApp"),
        ("blob:audio/*", BLOBS),
        ("blob:image/*", "blob:audio/mpeg"),
        ("repo", "repo:fm.svc.track"),
        ("repo:*", "repo"),
        ("repo:*", "repo?collection="),
        ("transition:generic", "account:email"),
        ("%:?&=", "repo:fm.svc.track"),
    ],
)
def test_this_is_not(granted: str, wanted: str) -> None:
    assert not covers(granted, wanted)


def test_what_is_missing_is_named() -> None:
    """In the order that it was wanted."""
    granted = frozenset(("atproto", "repo:fm.svc.like"))

    assert scopes.missing_scopes(granted, (BLOBS, "repo:fm.svc.like", SCROBBLING), FM) == (BLOBS, SCROBBLING)


def test_another_namespace_has_other_scopes() -> None:
    dev = Collections("fm.svc.dev")

    assert scopes.missing_scopes(frozenset(FM.scopes), dev.scopes, dev) == dev.scopes


@given(st.frozensets(st.text("repoblbinclude:?=&%/.,", max_size=40)), st.sampled_from(scopes.all_scopes(FM)))
def test_scopes_that_make_no_sense_allow_nothing(granted: frozenset[str], wanted: str) -> None:
    assert not scopes.covers(granted, wanted, FM)
