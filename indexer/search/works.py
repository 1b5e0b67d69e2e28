"""What accounts have published, lists hold and tags are used for, by the search index itself.

To read it from the catalogue takes scans, and rows that lie apart.

The catalog index has every visible track with its tags and exact counts, the social index every visible like
and comment. A step replaces some of these documents, so its own take the place of the committed ones.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property

import orjson

from indexer.search.documents.fields import Documents, Fields
from indexer.search.documents.lists import Item
from indexer.search.documents.tag import TagCounts
from indexer.search.documents.track import TrackRow
from indexer.search.folder import IndexFolder
from indexer.search.render import Refs
from schemas.access import Access, may_see
from schemas.ids import Did
from schemas.search_index import COUNT_SHIFT, place_term
from schemas.stored import Card, read_access

PUBLIC = "track@direct"  # the `place` of every track that is not private
LISTED = place_term("track", "discovery", adult=False)  # the `place` of tracks that tags count


def committed_tracks(catalog: IndexFolder, keys: Collection[int]) -> dict[int, bytes]:
    """The committed shown documents, by key, of those of these keys that are tracks'.

    Lists have keys, too, and any record may name a list where a track belongs.
    """
    found = catalog.stored(keys)
    return {key: packed for key, packed in found.items() if Card(memoryview(packed)).is_named(b"track:")}


class IndexedWorks:
    """Works of accounts and uses of tags as a step leaves them: add the step's documents before asking.

    `counted`: the committed documents, by key, of the tracks of which the step changes only counts and rank.
    """

    def __init__(
        self, catalog: IndexFolder, social: IndexFolder, refs: Refs, counted: Mapping[int, bytes]
    ) -> None:
        self._catalog = catalog
        self._social = social
        self._rendered = refs.tracks
        self._counted = counted
        self._replaced_tracks = refs.tracks | refs.ranks | refs.counts
        self._replaced_reactions = set(refs.social_names())
        self._counts: defaultdict[str, list[int]] = defaultdict(list)  # of the step's public tracks
        self._present: set[str] = set()
        self._plays: defaultdict[str, list[int]] = defaultdict(list)  # of the step's listed tracks, by tag
        self._items: dict[int, Item] = {}  # the step's tracks

    @property
    def owners(self) -> Set[str]:
        """The accounts of which the step has public tracks."""
        return self._counts.keys()

    def add_tracks(self, rows: Iterable[TrackRow]) -> None:
        """Add the step's rendered tracks."""
        for row in rows:
            self._present.add(row.did)
            if row.visibility != "private" and row.state == "live":
                self._counts[row.did].append((row.likes or 0) + (row.plays or 0))

    def add_cards(self, shown: Iterable[Fields]) -> None:
        """Add the step's tracks of which only counts and rank have changed."""
        for fields in shown:
            self._present.add(fields["did"])
            if PUBLIC in fields["place"]:
                self._counts[fields["did"]].append(fields["popular"] >> COUNT_SHIFT)

    def add_reactions(self, reactions: Iterable[Fields]) -> None:
        """Add the step's likes and comments."""
        self._present.update(fields["did"] for fields in reactions)

    def noted(self, documents: Iterable[Documents]) -> Iterator[Documents]:
        """Pass on the step's rendered documents, tracks first; add what lists and tags tell of these."""
        for both in documents:
            shown = both.shown
            if shown["kind"] == "track":
                key = shown["key"]
                access = read_access(Did(shown["did"]), shown["access"])
                self._items[key] = _item(key, access, shown["plays"])
                self._add_tags(shown)
            yield both

    def popularity(self, dids: Collection[str]) -> dict[str, int]:
        """The sum of likes and plays of the public tracks of each of these accounts that has such tracks."""
        found = {did: [*self._counts.get(did, ()), *self._committed_counts(did)] for did in dids}
        return {did: sum(counts) for did, counts in found.items() if counts}

    def present(self, dids: Collection[str]) -> set[str]:
        """Those of these accounts that have a track, a like or a comment."""
        return {did for did in dids if did in self._present or self._has_committed(did)}

    def items(self, keys: Collection[int]) -> dict[int, Item]:
        """Those of these tracks that are shown at all, by key. The step's own are `noted` by then."""
        found = {key: self._items[key] for key in keys if key in self._items}
        others = [key for key in keys if key not in self._replaced_tracks]
        for key, packed in committed_tracks(self._catalog, others).items():
            known = Card(memoryview(packed))
            card = orjson.loads(known.card + b"}")
            found[key] = _item(key, known.access, card["play_count"])
        return found

    def tagged(self, names: Collection[str]) -> Iterator[tuple[str, TagCounts]]:
        """The counts of those of these tags that a listed track carries."""
        for name in names:
            tracks, plays = self._catalog.sum_numbers("plays", {"tag": name, "place": LISTED})
            now, before = self._plays.get(name, ()), self._replaced_tags.get(name, ())
            tracks, plays = tracks + len(now) - len(before), plays + sum(now) - sum(before)
            if tracks:
                yield name, TagCounts(tracks, plays)

    def _add_tags(self, shown: Fields) -> None:
        if LISTED in shown["place"]:
            for name in shown["tag"]:
                self._plays[name].append(shown["plays"])

    @cached_property
    def _replaced_tags(self) -> dict[str, list[int]]:
        """By tag, the committed plays of the listed tracks that the step replaces."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        rendered = committed_tracks(self._catalog, self._rendered)
        for packed in (*self._counted.values(), *rendered.values()):
            known = Card(memoryview(packed))
            if may_see(known.access, None, "discovery"):
                card = orjson.loads(known.card + b"}")
                for name in card["tags"]:
                    found[name].append(card["play_count"])
        return found

    def _committed_counts(self, did: str) -> Iterable[int]:
        for key, popular in self._catalog.find_numbers({"did": did, "place": PUBLIC}, "key", "popular"):
            if key not in self._replaced_tracks:
                yield popular >> COUNT_SHIFT

    def _has_committed(self, did: str) -> bool:
        tracks = self._catalog.find_numbers({"did": did, "kind": "track"}, "key")
        return any(key not in self._replaced_tracks for (key,) in tracks) or any(
            name not in self._replaced_reactions for name in self._social.find_names({"did": did})
        )


def _item(key: int, access: Access, plays: int) -> Item:
    visibility = "private" if access.labelled == "hidden" else access.visibility
    return Item(key, access.artist, visibility, plays, access.labelled == "adult")
