"""Stale references -> search documents, rendered in sets from the live catalogue."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import duckdb

from indexer.catalog.database import join_keys
from indexer.search.documents import albums, artist, counts, lists, people, reactions, tag, track
from indexer.search.documents.fields import Documents, Fields
from indexer.search.documents.people import Person


@dataclass(slots=True)
class Refs:
    """The documents to render: records by key, likes by pair, accounts by DID, tags by name.

    `counts`: tracks with only the counts on their cards stale. `persons`: accounts that must have a document;
    an existing one is not stale.
    """

    tracks: set[int] = field(default_factory=set)
    counts: set[int] = field(default_factory=set)
    lists: set[int] = field(default_factory=set)
    artists: set[str] = field(default_factory=set)
    persons: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    likes: set[int] = field(default_factory=set)
    comments: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, outbox: Iterable[tuple[str, int | None, str | None]]) -> "Refs":
        """Sort the outbox's (kind, key, name), each once. Raises TypeError for a kind without documents."""
        by_kind: dict[str, set[object]] = defaultdict(set)
        for kind, key, name in outbox:
            by_kind[kind].add(key if name is None else name)
        by_kind["count"] -= by_kind["track"]
        return cls(**{f"{kind}s": found for kind, found in by_kind.items()})  # type: ignore[arg-type]

    def shown_names(self) -> Iterator[str]:
        """The `doc` of each document in the catalog index, whether it exists or not."""
        yield from self.words_names()
        yield from (f"track:{key}" for key in self.counts - self.tracks)

    def words_names(self) -> Iterator[str]:
        """The `doc` of each document in the words index."""
        yield from (f"track:{key}" for key in self.tracks)
        yield from (f"list:{key}" for key in self.lists)
        yield from (f"artist:{did}" for did in self.artists)
        yield from (f"tag:{name}" for name in self.tags)

    def social_names(self) -> Iterator[str]:
        """The `doc` of each document in the social index."""
        yield from (f"like:{pair}" for pair in self.likes)
        yield from (f"comment:{key}" for key in self.comments)


def artist_popularity(con: duckdb.DuckDBPyConnection, refs: Refs) -> dict[str, int]:
    """The popularity of the artists of those tracks, which is the sum of their tracks'."""
    track_keys = refs.tracks | refs.counts
    if not track_keys:
        return {}
    owners = con.execute(f"select distinct did from tracks where key in ({join_keys(track_keys)})").fetchall()
    return artist.sum_popularity(con, [did for (did,) in owners])


def render_catalogue(con: duckdb.DuckDBPyConnection, refs: Refs, base_url: str) -> Iterator[Documents]:
    """Documents of those tracks, lists, artists and tags that are visible."""
    tracks = track.load_tracks(con, refs.tracks) if refs.tracks else []
    rows = lists.load_lists(con, refs.lists) if refs.lists else []
    owners = {row.did for row in tracks} | {row.did for row in rows}
    featured = {did for row in tracks for did in row.features or ()}
    known = people.load_people(con, owners | featured | refs.artists)
    shelves = albums.load_albums(con, owners) if owners else albums.AlbumsByArtist()
    for row in tracks:
        yield track.track_documents(row, known, shelves, base_url)
    if rows:
        contents = lists.load_tracklists(con, rows, shelves)
        yield from (lists.list_documents(row, known, shelves, contents) for row in rows)
    yield from _artists(con, {did: known[did] for did in refs.artists & known.keys()})
    for name, track_count, total_plays in tag.load_tags(con, refs.tags) if refs.tags else ():
        yield tag.tag_documents(name, track_count, total_plays)


def render_counts(con: duckdb.DuckDBPyConnection, packed: Mapping[int, bytes]) -> Iterator[Fields]:
    """The shown documents of tracks: the packed cards, by key, with the present counts."""
    counted = counts.load_counts(con, packed) if packed else {}
    for key, known in packed.items():
        yield counts.recount_card(known, counted.get(key, counts.Counts()))


def render_social(con: duckdb.DuckDBPyConnection, refs: Refs) -> Iterator[Fields]:
    """Documents of the visible likes and comments."""
    if refs.likes:
        yield from reactions.like_documents(con, refs.likes)
    if refs.comments:
        yield from reactions.comment_documents(con, refs.comments)


def _artists(con: duckdb.DuckDBPyConnection, known: Mapping[str, Person]) -> Iterator[Documents]:
    if known:
        for did, popular in artist.load_artists(con, known).items():
            yield artist.artist_documents(known[did], popular)
