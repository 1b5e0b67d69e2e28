"""The albums of artists: their slugs, and the album of each track."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import duckdb

from indexer.catalog.database import join_keys, join_words
from schemas.ids import list_id
from schemas.slugs import same_name, slug

UNTITLED = "Untitled"

# The earliest first: it keeps the plain slug, and gets the track that two of them hold.
ALBUMS = """
    select key, uri, did, name, image_cid, created_at, indexed_at
    from lists
    where state = 'live' and list_type = 'album' and did in (select unnest(string_split($dids, ' ')))
    order by created_at, uri
"""

HELD = """
    select subject_key, list_key
    from list_items
    where list_key in ({keys})
"""


@dataclass(frozen=True, slots=True)
class Album:
    """An album as tracks refer to it."""

    key: int
    uri: str
    did: str
    title: str
    slug: str
    image_cid: str | None
    created_at: datetime

    @property
    def id(self) -> uuid.UUID:
        return list_id(self.uri)


@dataclass(slots=True)
class AlbumsByArtist:
    """The albums of some artists."""

    albums: dict[int, Album] = field(default_factory=dict)
    _named: dict[tuple[str, str], Album] = field(default_factory=dict)
    _holding: dict[tuple[str, int], Album] = field(default_factory=dict)

    def album_of(self, did: str, key: int, album: str | None) -> Album | None:
        """The artist's album that holds the track, else the one that the track names."""
        held = self._holding.get((did, key))
        if held is not None or album is None:
            return held
        return self._named.get((did, same_name(album)))

    def add(self, album: Album) -> None:
        """Add an album, after the earlier albums of its artist."""
        self.albums[album.key] = album
        self._named.setdefault((album.did, same_name(album.title)), album)

    def hold(self, held: Iterable[tuple[int, int]]) -> None:
        """Note which track (first) is in which album (second)."""
        rank = {key: position for position, key in enumerate(self.albums)}
        for track_key, list_key in sorted(held, key=lambda pair: rank[pair[1]]):
            album = self.albums[list_key]
            self._holding.setdefault((album.did, track_key), album)


def load_albums(con: duckdb.DuckDBPyConnection, dids: Iterable[str]) -> AlbumsByArtist:
    """Every album of these artists, who are not hidden."""
    shelves = AlbumsByArtist()
    taken: set[tuple[str, str]] = set()
    for key, uri, did, name, image_cid, created_at, indexed_at in con.execute(
        ALBUMS, {"dids": join_words(set(dids))}
    ).fetchall():
        title = (name or "").strip() or UNTITLED
        address = _address(did, title, uri, taken)
        shelves.add(Album(key, uri, did, title, address, image_cid, min(created_at, indexed_at)))
    if shelves.albums:
        shelves.hold(con.execute(HELD.format(keys=join_keys(shelves.albums))).fetchall())
    return shelves


def _address(did: str, title: str, uri: str, taken: set[tuple[str, str]]) -> str:
    """The album's slug; a later album with the same slug appends the beginning of its id."""
    plain = slug(title)
    if (did, plain) not in taken:
        taken.add((did, plain))
        return plain
    return f"{plain}-{list_id(uri).hex[:8]}"
