"""Album and playlist records -> search documents."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import duckdb
import orjson

from indexer.catalog.database import join_keys, join_words
from indexer.search.documents import people
from indexer.search.documents.albums import UNTITLED, Album, AlbumsByArtist
from indexer.search.documents.fields import (
    Documents,
    Fields,
    card_json,
    name_fields,
    of_kind,
    result_fields,
    term_fields,
    unless_hidden,
)
from indexer.search.documents.labels import IS_ADULT, Labels
from indexer.search.documents.people import Person
from schemas.ids import list_id, record_id
from schemas.label_policy import Effect
from schemas.labels import label_members
from schemas.pictures import picture_of
from schemas.records import MAX_ITEMS
from schemas.search_index import Kind

LISTS = """
    select l.key, l.uri, l.cid, l.did, l.name, l.list_type, l.description, l.image_cid,
           l.created_at, least(l.created_at, l.indexed_at) as since, i.width, i.height
    from lists l
    left join images i on i.cid = l.image_cid and i.width > 0
    where l.rowid in (select rowid from lists where key in ({keys})) and l.state = 'live'
      and (l.list_type is null or l.list_type in ('album', 'playlist'))
"""

ITEMS = "select list_key, subject_key from list_items where list_key in ({keys}) order by list_key, position"

TRACKS = f"""
    with tracks as materialized (
        select key, did, cid, labels,
               case when state = 'live' then visibility else 'private' end as visibility
        from tracks
        where rowid in (select rowid from tracks where key in ({{keys}})) and state in ('live', 'withheld')
    ),
    rated as materialized (
        select key, did, visibility, {IS_ADULT} as is_adult from tracks
    ),
    counts as materialized (
        select subject_key, plays from track_counts where subject_key in (select key from tracks)
    )
    select key, did, visibility, coalesce(plays, 0), is_adult
    from rated left join counts on subject_key = key
"""

# Tracks of visible artists that may belong to an album by naming it, in the order of the album.
NAMING = f"""
    with theirs as materialized (
        select key, did, cid, labels,
               case when state = 'live' then visibility else 'private' end as visibility,
               album, least(created_at, indexed_at) as since, id
        from tracks
        where rowid in (select rowid from tracks where did in (select unnest(string_split($dids, ' '))))
          and state in ('live', 'withheld') and album is not null
    ),
    rated as materialized (
        select *, {IS_ADULT} as is_adult from theirs
    ),
    counts as materialized (
        select subject_key, plays from track_counts where subject_key in (select key from theirs)
    )
    select key, did, visibility, coalesce(plays, 0), is_adult, album
    from rated
    left join counts on subject_key = key
    order by since, id
"""


class ListRow(NamedTuple):
    """A visible list record."""

    key: int
    uri: str
    cid: str | None
    did: str
    name: str | None
    list_type: str | None
    description: str | None
    image_cid: str | None
    created_at: datetime
    since: datetime
    width: int | None
    height: int | None


class Item(NamedTuple):
    """A track in a list. What labels hide is as good as private."""

    key: int
    did: str
    visibility: str
    plays: int
    is_adult: bool


@dataclass(frozen=True, slots=True)
class Tracklists:
    """The tracks of each list, in order."""

    items: Mapping[int, Sequence[Item]]
    named: Mapping[int, Sequence[Item]]

    def album(self, key: int) -> list[Item]:
        """The items in list order, then the tracks that belong by name; each once.

        The result is limited to the size of a list record, because it is shown without paging.
        """
        both = (*self.items.get(key, ()), *self.named.get(key, ()))
        return list({item.key: item for item in both}.values())[:MAX_ITEMS]

    def playlist(self, key: int) -> list[Item]:
        """The items in list order; a track may occur twice."""
        return list(self.items.get(key, ()))


def load_lists(con: duckdb.DuckDBPyConnection, list_keys: Iterable[int], hidden: Set[str]) -> list[ListRow]:
    """The albums and playlists among these lists that are live and not of a hidden account."""
    found = con.execute(LISTS.format(keys=join_keys(list_keys))).fetchall()
    return [row for row in map(ListRow._make, found) if row.did not in hidden]


def load_items(con: duckdb.DuckDBPyConnection, track_keys: Iterable[int]) -> dict[int, Item]:
    """Those of these tracks that are shown at all, by key, as the catalogue has them."""
    found = con.execute(TRACKS.format(keys=join_keys(track_keys))).fetchall()
    return {row[0]: Item(*row) for row in found}


def load_tracklists(
    con: duckdb.DuckDBPyConnection,
    rows: Sequence[ListRow],
    shelves: AlbumsByArtist,
    hidden: Set[str],
    tracks_of: Callable[[Collection[int]], Mapping[int, Item]],
) -> Tracklists:
    """The visible tracks of these lists. `shelves` knows the albums of all their owners.

    `tracks_of` gives those of some tracks, by key, that are shown at all.
    """
    held = con.execute(ITEMS.format(keys=join_keys(row.key for row in rows))).fetchall()
    tracks = tracks_of({track_key for _, track_key in held}) if held else {}
    items: dict[int, list[Item]] = defaultdict(list)
    for list_key, track_key in held:
        track = tracks.get(track_key)
        if track is not None and track.did not in hidden:
            items[list_key].append(track)
    named: dict[int, list[Item]] = defaultdict(list)
    dids = {row.did for row in rows if row.list_type == "album"}
    for *item, album_name in con.execute(NAMING, {"dids": join_words(dids)}).fetchall() if dids else ():
        track = Item(*item)
        album = shelves.album_of(track.did, track.key, album_name)
        if album is not None:
            named[album.key].append(track)
    return Tracklists(items, named)


def list_documents(
    row: ListRow,
    known: Mapping[str, Person],
    shelves: AlbumsByArtist,
    contents: Tracklists,
    labels: Labels,
) -> Documents:
    """The list's documents."""
    owner = known.get(row.did) or people.unknown_person(row.did)
    album = shelves.albums.get(row.key)
    if album:
        return _album(row, owner, album, contents.album(row.key), labels)
    return _playlist(row, owner, contents.playlist(row.key), labels)


def _album(row: ListRow, owner: Person, album: Album, tracks: Sequence[Item], labels: Labels) -> Documents:
    effect = labels.effect(row.did, row.key, row.cid)
    counted = [track for track in tracks if track.visibility != "private" and not track.is_adult]
    plays = sum(track.plays for track in counted)
    image_url = owner.blob_url(row.image_cid)
    card = {
        "id": str(album.id),
        "uri": row.uri,
        "title": album.title,
        "slug": album.slug,
        "description": row.description,
        "artist": owner.name,
        "artist_handle": owner.handle,
        "artist_did": row.did,
        "track_count": len(counted),
        "total_plays": plays,
        "image_url": image_url,
        "created_at": row.created_at,
        **label_members(labels.of(row.did, row.key, row.cid)),
    }
    hit = {
        "type": "album",
        "id": card["id"],
        "title": album.title,
        "slug": album.slug,
        "artist_handle": owner.handle,
        "artist_display_name": owner.name,
        "image_url": image_url,
    }
    name = _named("album", row)
    found = result_fields("album", name, plays, record_id(row.uri), hit, adult=effect == "adult")
    return Documents(
        {**name, **_shown("album", row, owner, tracks, card, effect), "slug": album.slug},
        found | term_fields([album.title], {"artist": owner.names}, row.description, "album"),
    )


def _playlist(row: ListRow, owner: Person, tracks: Sequence[Item], labels: Labels) -> Documents:
    effect = labels.effect(row.did, row.key, row.cid)
    title = (row.name or "").strip() or UNTITLED
    card: dict[str, Any] = {
        "id": str(list_id(row.uri)),
        "name": title,
        "owner_did": row.did,
        "owner_handle": owner.handle,
        "owner_display_name": owner.display_name,
        "track_count": sum(track.visibility == "public" and not track.is_adult for track in tracks),
        "image_url": owner.blob_url(row.image_cid),
        "show_on_profile": True,
        "atproto_record_uri": row.uri,
        "created_at": row.created_at,
        **label_members(labels.of(row.did, row.key, row.cid)),
    }
    fields = ("id", "name", "owner_handle", "image_url", "track_count")
    hit = {"type": "playlist", **{key: card[key] for key in fields}, "owner_display_name": owner.name}
    name = _named("playlist", row)
    found = result_fields("playlist", name, 0, record_id(row.uri), hit, adult=effect == "adult")
    return Documents(
        name | _shown("playlist", row, owner, tracks, card, effect),
        found | term_fields([title], {"artist": owner.names}, row.description),
    )


def _named(kind: Kind, row: ListRow) -> Fields:
    return {**name_fields(kind, f"list:{row.key}", record_id(row.uri), row.since), "did": row.did}


def _shown(
    kind: Kind, row: ListRow, owner: Person, tracks: Sequence[Item], card: dict[str, Any], effect: Effect
) -> Fields:
    """The fields that the shown documents of albums and playlists share."""
    return {
        **of_kind(kind, unless_hidden(effect)),
        "access": effect.encode(),
        "key": row.key,
        "uuid": card["id"],
        "picture": picture_of(card["image_url"]) or "",
        "uri": row.uri,
        "handle": owner.known_handle.lower() if owner.known_handle else "",
        "items": orjson.dumps([track.key for track in tracks]),
        "card": card_json(card),
        "thumb": f"{row.width}x{row.height}".encode() if row.width and owner.pds else b"",
    }
