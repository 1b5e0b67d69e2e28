"""OAuth scopes: which we ask for, and what those that were granted allow. Pure.

Servers write what they granted in their own way: several collections in one scope, some actions only, a
permission set by its name or as what is in it. https://atproto.com/specs/permission
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Literal
from urllib.parse import parse_qs, unquote

from schemas.collections import ATPROTO, BLOBS, SCROBBLING, Collections

Need = Literal["track", "like", "comment", "list", "profile", "blobs", "scrobbling"]
Permission = tuple[str, ...]  # ("repo", collection, action) or ("blob", kind of media)

_ACTIONS = ("create", "update", "delete")
# From before scopes were fine: what an application's password allowed.
_EVERYTHING = {"transition:generic": ("repo:*", BLOBS)}


def to_sign_in(collections: Collections) -> tuple[str, ...]:
    """What everybody who signs in is asked for."""
    return (ATPROTO, *collections.scopes, BLOBS)


def named(need: Need, collections: Collections) -> str:
    """The scope that lets us do something, whatever the namespace is."""
    match need:
        case "blobs":
            return BLOBS
        case "scrobbling":
            return SCROBBLING
        case _:
            return f"repo:{getattr(collections, need)}"


def everything(collections: Collections) -> tuple[str, ...]:
    """Whatever may ever be asked for."""
    return (*to_sign_in(collections), SCROBBLING, collections.permission_set, collections.space_scope)


@functools.lru_cache(4096)  # asked of every request
def covers(granted: frozenset[str], wanted: str, collections: Collections) -> bool:
    """Does what was granted allow all that the wanted scope does?"""
    if wanted in granted:
        return True
    sets = {collections.permission_set: collections.scopes, **_EVERYTHING}
    held, needed = set(_permissions(granted, sets)), set(_permissions([wanted], sets))
    return bool(needed) and all(not held.isdisjoint(_implying(permission)) for permission in needed)


def missing(granted: frozenset[str], wanted: Iterable[str], collections: Collections) -> tuple[str, ...]:
    """The wanted scopes that were not granted."""
    return tuple(scope for scope in wanted if not covers(granted, scope, collections))


def _permissions(scopes: Iterable[str], sets: dict[str, tuple[str, ...]]) -> Iterator[Permission]:
    """Each single thing that the scopes allow."""
    for scope in scopes:
        for part in sets.get(scope, (scope,)):
            yield from _allowed(part)


def _allowed(scope: str) -> Iterator[Permission]:
    """`repo:fm.svc.track?action=create`: a resource, its main value after the colon, and parameters."""
    before, _, query = scope.partition("?")
    resource, colon, main = before.partition(":")
    values = parse_qs(query)
    if resource == "repo":
        for collection in [unquote(main)] if colon else values.get("collection", ()):
            for action in values.get("action", _ACTIONS):
                yield resource, collection, action
    elif resource == "blob":
        for kind in [unquote(main)] if colon else values.get("accept", ()):
            yield resource, kind


def _implying(permission: Permission) -> set[Permission]:
    """The permission, and those wider ones that have it in them."""
    match permission:
        case ("repo", _, action):
            return {permission, ("repo", "*", action)}
        case (resource, kind):
            return {permission, (resource, f"{kind.partition('/')[0]}/*"), (resource, "*/*")}
        case _:
            return {permission}
