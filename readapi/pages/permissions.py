"""What somebody granted, in words: which of their permissions this service has, and which it lacks. Pure."""

from dataclasses import dataclass

from readapi.oauth import scopes
from schemas.collections import BLOBS, SCROBBLING, Collections


@dataclass(frozen=True, slots=True)
class Permission:
    """One thing that a person may let this service do for them."""

    words: str
    scope: str
    granted: bool


@dataclass(frozen=True, slots=True)
class Permissions:
    """All of them. Scrobbling stands apart, because nobody is asked for it who did not turn it on."""

    listed: tuple[Permission, ...]
    scrobbling: bool

    @property
    def complete(self) -> bool:
        return all(permission.granted for permission in self.listed)

    @classmethod
    def of(cls, granted: frozenset[str], collections: Collections) -> "Permissions":
        """Read from what a server says it granted."""
        listed = (
            Permission(words, scope, scopes.covers(granted, scope, collections))
            for scope, words in _words(collections).items()
        )
        return cls(tuple(listed), scopes.covers(granted, SCROBBLING, collections))


def _words(collections: Collections) -> dict[str, str]:
    return {
        f"repo:{collections.track}": "Publish, change and delete your tracks",
        f"repo:{collections.list}": "Keep your albums, playlists and liked lists",
        f"repo:{collections.like}": "Like and unlike tracks",
        f"repo:{collections.comment}": "Write timed comments",
        f"repo:{collections.profile}": "Write your artist profile",
        BLOBS: "Upload audio and pictures",
    }
