"""OAuth scopes: which ones we request, and what granted ones allow. Pure.

Servers may write granted scopes differently from the requested ones: several collections in one scope, some
actions only, a permission set by name or expanded. https://atproto.com/specs/permission
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Literal
from urllib.parse import parse_qs, unquote

from schemas.collections import ATPROTO, BLOBS, SCROBBLING, Collections

Need = Literal["track", "like", "comment", "list", "profile", "blobs", "scrobbling"]
Permission = tuple[str, ...]  # ("repo", collection, action) or ("blob", media type)

_ACTIONS = ("create", "update", "delete")
# The transitional scope from before granular ones: what an app password allowed.
_EVERYTHING = {"transition:generic": ("repo:*", BLOBS)}


def sign_in_scopes(collections: Collections) -> tuple[str, ...]:
    """The scopes requested at every sign-in."""
    return (ATPROTO, *collections.scopes, BLOBS)


def scope_for(need: Need, collections: Collections) -> str:
    """The scope that a need requires, in this namespace."""
    match need:
        case "blobs":
            return BLOBS
        case "scrobbling":
            return SCROBBLING
        case _:
            return f"repo:{getattr(collections, need)}"


def all_scopes(collections: Collections) -> tuple[str, ...]:
    """All scopes that may ever be requested."""
    return (*sign_in_scopes(collections), SCROBBLING, collections.permission_set, collections.space_scope)


@functools.lru_cache(4096)  # called on every request
def covers(granted: frozenset[str], wanted: str, collections: Collections) -> bool:
    """Do the granted scopes allow all that the wanted scope allows?"""
    if wanted in granted:
        return True
    sets = {collections.permission_set: collections.scopes, **_EVERYTHING}
    held, needed = set(_permissions(granted, sets)), set(_permissions([wanted], sets))
    return bool(needed) and all(not held.isdisjoint(_implying(permission)) for permission in needed)


def missing_scopes(
    granted: frozenset[str], wanted: Iterable[str], collections: Collections
) -> tuple[str, ...]:
    """The wanted scopes that were not granted."""
    return tuple(scope for scope in wanted if not covers(granted, scope, collections))


def _permissions(scopes: Iterable[str], sets: dict[str, tuple[str, ...]]) -> Iterator[Permission]:
    """Each single permission that the scopes grant."""
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
    """The permission, and the wider ones that include it."""
    match permission:
        case ("repo", _, action):
            return {permission, ("repo", "*", action)}
        case (resource, kind):
            return {permission, (resource, f"{kind.partition('/')[0]}/*"), (resource, "*/*")}
        case _:
            return {permission}
