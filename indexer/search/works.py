"""What accounts have published, by the search index itself: no scan of the catalogue.

The catalog index has every visible track with its exact counts, the social index every visible like and
comment. A step replaces some of these documents, so its own take the place of the committed ones.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from indexer.search.documents.fields import Fields
from indexer.search.documents.track import TrackRow
from indexer.search.folder import IndexFolder
from indexer.search.render import Refs
from schemas.search_index import COUNT_SHIFT

PUBLIC = "track@direct"  # the `place` of every track that is not private


class IndexedWorks:
    """The works of accounts as a step leaves them: add the step's documents before asking."""

    def __init__(self, catalog: IndexFolder, social: IndexFolder, refs: Refs) -> None:
        self._catalog = catalog
        self._social = social
        self._replaced_tracks = refs.tracks | refs.counts
        self._replaced_reactions = set(refs.social_names())
        self._counts: defaultdict[str, list[int]] = defaultdict(list)  # of the step's public tracks
        self._present: set[str] = set()

    @property
    def owners(self) -> Collection[str]:
        """The accounts of which the step has public tracks."""
        return self._counts.keys()

    def add_tracks(self, rows: Iterable[TrackRow]) -> None:
        """Add the step's rendered tracks."""
        for row in rows:
            self._present.add(row.did)
            if row.visibility != "private" and row.state == "live":
                self._counts[row.did].append((row.likes or 0) + (row.plays or 0))

    def add_cards(self, shown: Iterable[Fields]) -> None:
        """Add the step's tracks of which only the counts have changed."""
        for fields in shown:
            self._present.add(fields["did"])
            if PUBLIC in fields["place"]:
                self._counts[fields["did"]].append(fields["popular"] >> COUNT_SHIFT)

    def add_reactions(self, reactions: Iterable[Fields]) -> None:
        """Add the step's likes and comments."""
        self._present.update(fields["did"] for fields in reactions)

    def popularity(self, dids: Collection[str]) -> dict[str, int]:
        """The sum of likes and plays of the public tracks of each of these accounts that has such tracks."""
        found = {did: [*self._counts.get(did, ()), *self._committed_counts(did)] for did in dids}
        return {did: sum(counts) for did, counts in found.items() if counts}

    def present(self, dids: Collection[str]) -> set[str]:
        """Those of these accounts that have a track, a like or a comment."""
        return {did for did in dids if did in self._present or self._has_committed(did)}

    def _committed_counts(self, did: str) -> Iterable[int]:
        for key, popular in self._catalog.find_numbers({"did": did, "place": PUBLIC}, "key", "popular"):
            if key not in self._replaced_tracks:
                yield popular >> COUNT_SHIFT

    def _has_committed(self, did: str) -> bool:
        tracks = self._catalog.find_numbers({"did": did, "kind": "track"}, "key")
        return any(key not in self._replaced_tracks for (key,) in tracks) or any(
            name not in self._replaced_reactions for name in self._social.find_names({"did": did})
        )
