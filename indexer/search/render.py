"""Stale references -> search documents, rendered in sets from the live catalogue."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from indexer.search.documents import (
    albums,
    artist,
    counts,
    labels,
    lists,
    people,
    reactions,
    tag,
    track,
)
from indexer.search.documents.artist import Works
from indexer.search.documents.fields import Documents, Fields
from indexer.search.documents.labels import Labels
from indexer.search.documents.people import Person
from indexer.search.documents.track import TrackRow


@dataclass(slots=True)
class Refs:
    """The documents to render: records by key, likes by pair, accounts by DID, tags by name.

    `likes`: the only record of each, as the outbox has it, NO_RECORD, or None: the records are looked up.
    `counts`: tracks with only the counts on their cards stale; `ranks`: and their rank in searches.
    `persons`: accounts that must have a document; an existing one is not stale.
    """

    tracks: set[int] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    counts: set[int] = field(default_factory=set)
    lists: set[int] = field(default_factory=set)
    artists: set[str] = field(default_factory=set)
    persons: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    likes: dict[int, str | None] = field(default_factory=dict)
    comments: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, outbox: Iterable[tuple[str, int | None, str | None]]) -> "Refs":
        """Sort the outbox's (kind, key, name), each once. Raises TypeError for a kind without documents."""
        by_kind: dict[str, set[object]] = defaultdict(set)
        likes: dict[int, str | None] = {}
        for kind, key, name in outbox:
            if kind == "like" and key is not None:
                likes[key] = name
            else:
                by_kind[kind].add(key if name is None else name)
        by_kind["rank"] -= by_kind["track"]
        by_kind["count"] -= by_kind["track"] | by_kind["rank"]
        return cls(likes=likes, **{f"{kind}s": found for kind, found in by_kind.items()})  # type: ignore[arg-type]

    @classmethod
    def of_kind(cls, kind: str, names: Iterable[int] | Iterable[str]) -> "Refs":
        """All of one kind, by its field. Likes are looked up."""
        return cls(**{kind: dict.fromkeys(names) if kind == "likes" else set(names)})  # type: ignore[arg-type]

    def shown_names(self) -> Iterator[str]:
        """The `doc` of each document in the catalog index, whether it exists or not."""
        yield from self.words_names()
        yield from (f"track:{key}" for key in self.counts)

    def words_names(self) -> Iterator[str]:
        """The `doc` of each document in the words index."""
        yield from (f"track:{key}" for key in self.tracks | self.ranks)
        yield from (f"list:{key}" for key in self.lists)
        yield from (f"artist:{did}" for did in self.artists)
        yield from (f"tag:{name}" for name in self.tags)

    def social_names(self) -> Iterator[str]:
        """The `doc` of each document in the social index."""
        yield from (f"like:{pair}" for pair in self.likes)
        yield from (f"comment:{key}" for key in self.comments)


class Rendering:
    """Renders from one state of the catalogue.

    `works`: what accounts have published, lists hold, and tags are used for.
    `base_url` is the service's own origin: audio at its URLs is identified by the hash in them.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, base_url: str, works: Works) -> None:
        self._con = con
        self._base_url = base_url
        self._works = works
        self._gone = people.load_hidden(con)
        self._withheld = people.load_withheld(con) - self._gone
        self._hidden = self._gone | self._withheld

    def tracks(self, keys: Collection[int]) -> list[TrackRow]:
        """The tracks among these that are shown at all, to be rendered by `catalogue`."""
        return track.load_tracks(self._con, keys, self._gone) if keys else []

    def catalogue(
        self, tracks: Sequence[TrackRow], counted: Sequence[Fields], refs: Refs
    ) -> Iterator[Documents]:
        """Documents of these tracks, and of those lists and artists of `refs` that are visible.

        `counted`: of the tracks whose counts have changed, what `counts` gave.
        """
        con, hidden = self._con, self._hidden
        rows = lists.load_lists(con, refs.lists, hidden) if refs.lists else []
        owners = {row.did for row in tracks} | {row.did for row in rows}
        featured = {did for row in tracks for did in row.features or ()}
        wanted = owners | featured | refs.artists
        everyone = people.load_people(con, wanted, self._gone) if wanted else {}
        known = {did: person for did, person in everyone.items() if did not in self._withheld}
        given = self._labels(wanted, [*(row.key for row in tracks), *(row.key for row in rows)])
        shelves = albums.load_albums(con, owners) if owners else albums.AlbumsByArtist()
        for row in tracks:
            names = everyone if row.did in self._withheld else known
            yield track.track_documents(row, names, shelves, given, self._base_url)
        for shown in counted:
            yield counts.ranked_documents(shown) if shown["key"] in refs.ranks else Documents(shown, None)
        if rows:
            contents = lists.load_tracklists(con, rows, shelves, hidden, self._works.items)
            yield from (lists.list_documents(row, known, shelves, contents, given) for row in rows)
        yield from self._artists({did: known[did] for did in refs.artists & known.keys()}, given)

    def tags(self, refs: Refs) -> Iterator[Documents]:
        """Documents of those tags of `refs` that a listed track carries. `works` has all tracks by then."""
        for name, counted in self._works.tagged(refs.tags) if refs.tags else ():
            yield tag.tag_documents(name, counted)

    def counts(self, packed: Mapping[int, bytes]) -> Iterator[Fields]:
        """The shown documents of tracks: the packed cards, by key, with the present counts."""
        counted = counts.load_counts(self._con, packed) if packed else {}
        for key, known in packed.items():
            yield counts.recount_card(known, counted.get(key, counts.Counts()))

    def social(self, refs: Refs) -> Iterator[Fields]:
        """Documents of the visible likes and comments of `refs`."""
        if refs.likes:
            yield from reactions.like_documents(self._con, refs.likes, self._hidden)
        if refs.comments:
            yield from reactions.comment_documents(self._con, refs.comments, self._hidden)

    def _labels(self, dids: Collection[str], keys: Collection[int]) -> Labels:
        return labels.load_labels(self._con, dids, keys) if dids else Labels()

    def _artists(self, known: Mapping[str, Person], given: Labels) -> Iterator[Documents]:
        if known:
            for did, popular in artist.load_artists(self._con, known, self._works).items():
                yield artist.artist_documents(known[did], popular, given)
