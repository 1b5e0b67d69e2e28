"""An account's granted scopes in words: the permissions that this service has and lacks. Pure."""

from dataclasses import dataclass

from readapi.oauth import scopes
from schemas.collections import BLOBS, SCROBBLING, Collections


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission that an account may grant to this service."""

    words: str
    scope: str
    granted: bool


@dataclass(frozen=True, slots=True)
class Permissions:
    """All permissions. Scrobbling is separate, since it is requested only when it is turned on."""

    listed: tuple[Permission, ...]
    scrobbling: bool

    @property
    def complete(self) -> bool:
        return all(permission.granted for permission in self.listed)

    @classmethod
    def of(cls, granted: frozenset[str], collections: Collections) -> "Permissions":
        """The permissions for the scopes that an authorization server granted."""
        listed = (
            Permission(words, scope, scopes.covers(granted, scope, collections))
            for scope, words in _words(collections).items()
        )
        return cls(tuple(listed), scopes.covers(granted, SCROBBLING, collections))


def _words(collections: Collections) -> dict[str, str]:
    return {
        f"repo:{collections.track}": "Publish, change and delete your tracks",
        f"repo:{collections.list}": "Manage your albums, playlists and lists",
        f"repo:{collections.like}": "Like and unlike tracks",
        f"repo:{collections.comment}": "Write timed comments",
        f"repo:{collections.profile}": "Write your artist profile",
        BLOBS: "Upload audio and pictures",
    }
