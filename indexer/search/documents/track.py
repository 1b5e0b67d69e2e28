"""Tracks -> search documents.

The card is the API's Track without the fields that depend on the viewer, and without URLs of this service.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import orjson

from indexer.catalog.database import join_keys
from indexer.search.documents import people
from indexer.search.documents.albums import Album, AlbumsByArtist
from indexer.search.documents.fields import (
    Documents,
    Fields,
    card_json,
    name_fields,
    of_kind,
    open_card,
)
from indexer.search.documents.labels import Labels, self_labels
from indexer.search.documents.people import Person
from indexer.search.documents.track_words import Names, words_fields
from schemas import label_policy
from schemas.access import Access, may_download, may_see
from schemas.audio import file_of, hidden_file
from schemas.ids import Did, checked_id
from schemas.labels import label_members
from schemas.pictures import picture_of
from schemas.search_index import popular_key

# Few tracks out of many: each table is narrowed before any is joined, and only their own rows are unpacked.
TRACKS = """
    with wanted as materialized (
        select *, least(created_at, indexed_at) as since
        from tracks
        where rowid in (select rowid from tracks where key in ({keys}))
          and state in ('live', 'withheld')
    )
    select t.*, c.likes, c.comments, c.plays, i.width, i.height, g.tags, f.features
    from wanted t
    left join (
        select * from track_counts where subject_key in ({keys})
    ) c on c.subject_key = t.key
    left join (
        select * from images where width > 0 and cid in (select image_cid from wanted)
    ) i on i.cid = t.image_cid
    left join (
        select track_key, list(tag order by position) as tags
        from track_tags where track_key in ({keys}) group by track_key
    ) g on g.track_key = t.key
    left join (
        select track_key, list(did order by position) as features
        from track_features where track_key in ({keys}) group by track_key
    ) f on f.track_key = t.key
"""


@dataclass(frozen=True, slots=True)
class TrackRow:
    """A visible track and its counters, tags and features."""

    key: int
    uri: str
    did: str
    rkey: str
    rev: str
    cid: str | None
    indexed_at: datetime
    state: str
    verified: str
    verified_at: datetime
    id: int
    title: str
    artist: str
    file_type: str
    created_at: datetime
    audio_cid: str | None
    audio_mime: str | None
    audio_url: str | None
    duration: int | None
    album: str | None
    description: str | None
    image_cid: str | None
    image_url: str | None
    listening: str
    downloads: str
    visibility: str
    policy_origin: str | None
    labels: list[str] | None
    rights: str | None
    updated_at: datetime | None
    likes: int | None
    comments: int | None
    plays: int | None
    width: int | None
    height: int | None
    tags: list[str] | None
    features: list[str] | None
    since: datetime


def load_tracks(
    con: duckdb.DuckDBPyConnection, track_keys: Iterable[int], hidden: Set[str]
) -> list[TrackRow]:
    """The tracks among these that have content and are not of a hidden account."""
    found = con.execute(TRACKS.format(keys=join_keys(track_keys)))
    at = {column[0]: position for position, column in enumerate(found.description or ())}
    wanted = [at[name] for name in TrackRow.__slots__]
    return [
        TrackRow(*(row[position] for position in wanted))
        for row in found.fetchall()
        if row[at["did"]] not in hidden
    ]


def track_documents(
    row: TrackRow, known: Mapping[str, Person], shelves: AlbumsByArtist, labels: Labels, base_url: str
) -> Documents:
    """The track's documents."""
    track = _Rendering(row, known, shelves, labels, base_url)
    card = track.card()
    names = Names.of(row.artist, row.album, track.owner, track.features)
    words = words_fields(row.key, card, track.access, row.since, names)
    return Documents({**track.shown(card), "found_by": names.pack()}, words)


def shown_fields(key: int, card: dict[str, Any], access: Access, since: datetime) -> Fields:
    """The shown document's fields, from a card and the track's access."""
    return {
        **name_fields("track", f"track:{key}", card["id"], since),
        **of_kind("track", lambda place, adult: may_see(access, None, place, adult=adult)),
        "key": key,
        "uri": card["uri"],
        "file": card["file_id"],
        "picture": picture_of(card["image_url"]) or "",
        "did": access.artist,
        "tag": card["tags"],
        "popular": popular_key(card["like_count"] + card["play_count"], card["id"]),
        "plays": card["play_count"],
        "card": open_card(card),
        "address": checked_id(card["uri"]).encode(),
        "access": " ".join((access.listening, access.downloads, access.visibility, access.labelled)).encode(),
    }


class _Rendering:
    """One track with everything its document is made from."""

    def __init__(
        self,
        row: TrackRow,
        known: Mapping[str, Person],
        shelves: AlbumsByArtist,
        labels: Labels,
        base_url: str,
    ) -> None:
        self.row = row
        own = self_labels(row.did, row.uri, row.cid, row.created_at, row.labels or ())
        self._labels = [*own, *labels.of(row.did, row.key, row.cid)]
        effect = label_policy.stricter(
            label_policy.self_effect_of(row.labels or ()), labels.effect(row.did, row.key, row.cid)
        )
        self._base_url = base_url
        self.owner = known.get(row.did) or people.unknown_person(row.did)
        self.features = [known.get(did) or people.unknown_person(did) for did in row.features or ()]
        self.album = shelves.album_of(row.did, row.key, row.album)
        policy = row.listening, row.downloads, row.visibility
        self.access = Access(Did(row.did), *policy, labelled=effect)  # type: ignore[arg-type]
        self.artist = self.owner.display_name or self.owner.known_handle or row.artist
        self.image_url = self.owner.blob_url(row.image_cid) or row.image_url

    def shown(self, card: dict[str, Any]) -> Fields:
        row = self.row
        return {
            **shown_fields(row.key, card, self.access, row.since),
            "proof": card_json(self.proof()),
            "audio": card_json({"cid": row.audio_cid, "mime": row.audio_mime, "url": row.audio_url}),
            "thumb": f"{row.width}x{row.height}".encode() if row.width and self._shows_blob() else b"",
        }

    def card(self) -> dict[str, Any]:
        row, owner = self.row, self.owner
        return {
            "id": row.id,
            "uri": row.uri,
            "cid": row.cid or "",
            "title": row.title,
            "artist": self.artist,
            "artist_handle": owner.handle,
            "artist_did": row.did,
            "artist_avatar_url": owner.avatar_url,
            "file_type": row.file_type,
            "duration": row.duration,
            "description": row.description,
            "features": [_feature(person) for person in self.features],
            "album": self._album(self.album) if self.album else None,
            "tags": row.tags or [],
            "image_url": self.image_url,
            "thumbnail_url": self.image_url,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "indexed_at": row.indexed_at,
            "like_count": row.likes or 0,
            "comment_count": row.comments or 0,
            "play_count": row.plays or 0,
            **self._policy(),
            **self._audio(),
            "atproto_record_uri": row.uri,
            "atproto_record_cid": row.cid or "",
            "atproto_record_url": owner.record_url(*row.uri.split("/")[-2:]) or row.uri,
            **label_members(self._labels),
            "rights": orjson.loads(row.rights) if row.rights else None,
        }

    def proof(self) -> dict[str, Any]:
        row, (collection, rkey) = self.row, self.row.uri.split("/")[-2:]
        return {
            "uri": row.uri,
            "did": row.did,
            "cid": row.cid or "",
            "rev": row.rev,
            "verified": row.verified,
            "verified_at": row.verified_at,
            "proof_url": self.owner.proof_url(collection, rkey),
        }

    def _policy(self) -> dict[str, Any]:
        row = self.row
        access = {"listening": row.listening, "downloads": row.downloads, "visibility": row.visibility}
        return {
            "publishing": {"access": access, "attach_rights": bool(row.rights)},
            "policy_origin": row.policy_origin,
            "visibility": row.visibility,
            "unlisted": row.visibility == "unlisted",
            "download_policy": row.downloads,
            "support_gate": _support_gate(row),
        }

    def _audio(self) -> dict[str, Any]:
        """The URLs of the audio. The blob's URL is included only when everybody may download it."""
        row, is_open = self.row, may_download(self.access, None)
        return {
            "file_id": self._file_id(is_open),
            "audio_storage": _storage(row),
            "pds_blob_cid": row.audio_cid if is_open else None,
        }

    def _file_id(self, is_open: bool) -> str:
        row = self.row
        if row.audio_cid:
            return row.audio_cid if is_open else hidden_file(row.did, row.audio_cid)
        return file_of(row.audio_url, self._base_url) if row.audio_url else ""

    def _album(self, album: Album) -> dict[str, Any]:
        image_url = self.owner.blob_url(album.image_cid)
        return {"id": str(album.id), "title": album.title, "slug": album.slug, "image_url": image_url}

    def _shows_blob(self) -> bool:
        return self.owner.blob_url(self.row.image_cid) is not None


def _feature(person: Person) -> dict[str, Any]:
    return {
        "did": person.did,
        "handle": person.handle,
        "display_name": person.name,
        "avatar_url": person.avatar_url,
    }


def _support_gate(row: TrackRow) -> dict[str, str] | None:
    if row.listening == "supporters":
        return {"type": "listening"}
    return {"type": "downloads"} if row.downloads == "supporters" else None


def _storage(row: TrackRow) -> str:
    if row.audio_cid:
        return "both" if row.audio_url else "pds"
    return "managed" if row.audio_url else "none"
