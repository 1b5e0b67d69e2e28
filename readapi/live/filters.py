"""Which changes a client wants. Pure."""

from typing import NamedTuple

from readapi.live.event import Event


class Filter(NamedTuple):
    """Changes that meet all conditions; an empty one admits every change.

    `collections`: NSIDs, or beginnings of them that end in `.*`; changes of accounts pass it. `dids`: who
    made the change. `artists`: whose track, list or profile it is about. `tags`: of tracks, before or after
    the change, so that only changes of tracks pass it.
    """

    collections: frozenset[str] = frozenset()
    dids: frozenset[str] = frozenset()
    artists: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()

    def admits(self, event: Event) -> bool:
        """Does the client want this change?"""
        return (
            (not self.dids or event.did in self.dids)
            and (not self.artists or event.artist in self.artists)
            and (not self.tags or not self.tags.isdisjoint(event.tags))
            and (not self.collections or event.collection is None or self._names(event.collection))
        )

    def _names(self, collection: str) -> bool:
        return collection in self.collections or any(
            name.endswith(".*") and collection.startswith(name[:-1]) for name in self.collections
        )
