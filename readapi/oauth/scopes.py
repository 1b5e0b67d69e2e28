"""OAuth scopes: which we ask for, and what those that were granted allow. Pure.

Servers write what they granted in their own way: several collections in one scope, some actions only, a
permission set by its name or as what is in it. https://atproto.com/specs/permission
"""

import functools
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from schemas.collections import ATPROTO, BLOBS, SCROBBLING, Collections

_ACTIONS = ("create", "update", "delete")
_ANY = "*"
_ANY_MEDIA = "*/*"
# From before scopes were fine: everything that an app password could do.
_EVERYTHING = "transition:generic"


def to_sign_in(collections: Collections) -> tuple[str, ...]:
    """What everybody who signs in is asked for."""
    return (ATPROTO, *collections.scopes, BLOBS)


def everything(collections: Collections) -> tuple[str, ...]:
    """Whatever may ever be asked for."""
    return (*to_sign_in(collections), SCROBBLING, collections.permission_set)


@functools.lru_cache(4096)  # asked of every request
def covers(granted: frozenset[str], wanted: str, collections: Collections) -> bool:
    """Does what was granted allow all that the wanted scope does?"""
    if wanted in granted:
        return True
    if collections.permission_set in granted:
        granted |= set(collections.scopes)
    need = _Scope.parse(wanted)
    have = [_Scope.parse(scope) for scope in granted]
    match need.resource:
        case "repo":
            return _EVERYTHING in granted or all(
                any(scope.lets_write(collection, action) for scope in have)
                for collection in need.values("collection")
                for action in need.values("action") or _ACTIONS
            )
        case "blob":
            return _EVERYTHING in granted or all(
                any(scope.lets_upload(accepted) for scope in have) for accepted in need.values("accept")
            )
        case "include" if wanted == collections.permission_set:
            return all(covers(granted, scope, collections) for scope in collections.scopes)
        case _:
            return False


def missing(granted: frozenset[str], wanted: tuple[str, ...], collections: Collections) -> tuple[str, ...]:
    """The wanted scopes that were not granted."""
    return tuple(scope for scope in wanted if not covers(granted, scope, collections))


@dataclass(frozen=True, slots=True)
class _Scope:
    """`repo:fm.svc.track?action=create`: a resource, its main value after the colon, and parameters."""

    resource: str
    main: str | None
    parameters: dict[str, list[str]]

    @classmethod
    def parse(cls, text: str) -> "_Scope":
        before, _, query = text.partition("?")
        resource, colon, main = before.partition(":")
        return cls(resource, unquote(main) if colon else None, parse_qs(query))

    def values(self, name: str) -> list[str]:
        """The values of one parameter; the main value belongs to the first that its resource has."""
        if self.main is not None and name in ("collection", "accept"):
            return [self.main]
        return self.parameters.get(name, [])

    def lets_write(self, collection: str, action: str) -> bool:
        return (
            self.resource == "repo"
            and not {collection, _ANY}.isdisjoint(self.values("collection"))
            and action in (self.values("action") or _ACTIONS)
        )

    def lets_upload(self, accepted: str) -> bool:
        any_of_kind = f"{accepted.partition('/')[0]}/*"
        return self.resource == "blob" and not {accepted, any_of_kind, _ANY_MEDIA}.isdisjoint(
            self.values("accept")
        )
