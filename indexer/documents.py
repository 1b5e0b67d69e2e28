"""Stale references -> search documents, rendered in sets from the live catalogue."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import duckdb

from indexer.cards import albums, artist, lists, people, standing, tag, track
from indexer.cards.fields import Fields
from indexer.cards.people import Person
from indexer.catalogue import keys


@dataclass(slots=True)
class Refs:
    """Which documents to render: records by key, likes by pair, people by DID, tags by name."""

    tracks: set[int] = field(default_factory=set)
    lists: set[int] = field(default_factory=set)
    artists: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    likes: set[int] = field(default_factory=set)
    comments: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, outbox: Iterable[tuple[str, int | None, str | None]]) -> "Refs":
        """Sort the outbox's (kind, key, name), each once. Raises TypeError for a kind without documents."""
        by_kind: dict[str, set[object]] = defaultdict(set)
        for kind, key, name in outbox:
            by_kind[kind].add(name if kind in ("artist", "tag") else key)
        return cls(**{f"{kind}s": found for kind, found in by_kind.items()})  # type: ignore[arg-type]

    def catalog_names(self) -> Iterator[str]:
        """The `doc` of each document in the catalog index, whether it is there or not."""
        yield from (f"track:{key}" for key in self.tracks)
        yield from (f"list:{key}" for key in self.lists)
        yield from (f"artist:{did}" for did in self.artists)
        yield from (f"tag:{name}" for name in self.tags)

    def social_names(self) -> Iterator[str]:
        """The `doc` of each document in the social index."""
        yield from (f"like:{pair}" for pair in self.likes)
        yield from (f"comment:{key}" for key in self.comments)


def widen(con: duckdb.DuckDBPyConnection, refs: Refs) -> Refs:
    """Add the tracks' artists: they are as popular as their tracks."""
    if not refs.tracks:
        return refs
    owners = con.execute(f"select distinct did from tracks where key in ({keys(refs.tracks)})").fetchall()
    return replace(refs, artists=refs.artists | {did for (did,) in owners})


def catalog(con: duckdb.DuckDBPyConnection, refs: Refs, base_url: str) -> Iterator[Fields]:
    """Documents of those tracks, lists, artists and tags that are visible."""
    tracks = track.load(con, refs.tracks) if refs.tracks else []
    rows = lists.load(con, refs.lists) if refs.lists else []
    owners = {row.did for row in tracks} | {row.did for row in rows}
    featured = {did for row in tracks for did in row.features or ()}
    known = people.load(con, owners | featured | refs.artists)
    shelves = albums.load(con, owners) if owners else albums.Shelves()
    for row in tracks:
        yield track.document(row, known, shelves, base_url)
    if rows:
        contents = lists.tracklists(con, rows, shelves)
        yield from (lists.document(row, known, shelves, contents) for row in rows)
    yield from _artists(con, {did: known[did] for did in refs.artists & known.keys()})
    for name, track_count, total_plays in tag.load(con, refs.tags) if refs.tags else ():
        yield tag.document(name, track_count, total_plays)


def social(con: duckdb.DuckDBPyConnection, refs: Refs) -> Iterator[Fields]:
    """Documents of those likes and comments that stand."""
    if refs.likes:
        yield from standing.likes(con, refs.likes)
    if refs.comments:
        yield from standing.comments(con, refs.comments)


def _artists(con: duckdb.DuckDBPyConnection, known: Mapping[str, Person]) -> Iterator[Fields]:
    if known:
        for did, popular in artist.load(con, known).items():
            yield artist.document(known[did], popular)
