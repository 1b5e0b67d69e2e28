"""Track records -> tracks, track_tags, track_features."""

from indexer.catalog.projections.projection import Applied, Children, Documents, Projection, Row, web_address
from schemas.datetimes import to_utc
from schemas.ids import AtUri, normalise_tag, record_key
from schemas.records import AccessSnapshot, Track

OPEN = AccessSnapshot.model_construct(listening="public", downloads="open", visibility="public")


def columns(track: Track, uri: AtUri) -> Row:
    """The track's own row. A record without `access` is public."""
    audio, access = track.audio_blob, track.access or OPEN
    return {
        "title": track.title,
        "artist": track.artist,
        "file_type": track.file_type,
        "created_at": to_utc(track.created_at),
        "audio_cid": audio.ref if audio else None,
        "audio_mime": audio.mime_type if audio else None,
        "audio_bytes": audio.size if audio else None,
        "audio_url": web_address(track.audio_url),
        "duration": track.duration,
        "album": track.album,
        "description": track.description,
        "image_cid": track.image.ref if track.image else None,
        "image_url": web_address(track.image_url),
        "listening": access.listening,
        "downloads": access.downloads,
        "visibility": access.visibility,
        "policy_origin": track.policy_origin,
        "labels": [label.val for label in track.labels.values] if track.labels else [],
        "rights": track.rights.model_dump_json(exclude_none=True) if track.rights else None,
        "updated_at": to_utc(track.updated_at),
    }


def children(track: Track, uri: AtUri) -> Children:
    """Tags and featured artists, each once, in the order of the record."""
    key = record_key(str(uri))
    tags = dict.fromkeys(tag for name in track.tags or () if (tag := normalise_tag(name)))
    dids = dict.fromkeys(feature.did for feature in track.features or ())
    return {
        "track_tags": [
            {"track_key": key, "position": position, "tag": tag} for position, tag in enumerate(tags)
        ],
        "track_features": [
            {"track_key": key, "position": position, "did": did} for position, did in enumerate(dids)
        ],
    }


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The tracks, their tags and artists, and the lists that hold them."""
    rows = documents.written(applied)
    documents.keyed("track", (row["key"] for row in rows))
    documents.keyed("track", applied.moved)
    documents.named("tag", (row["tag"] for row in applied.children("track_tags")))
    documents.lists_with({row["key"] for row in rows})
    # A track belongs to an album by naming it, too.
    documents.albums_of({row["did"] for row in rows if row["album"] is not None})


projection = Projection(
    name="track",
    table="tracks",
    model=Track,
    columns=columns,
    children=children,
    child_tables=("track_tags", "track_features"),
    has_id=True,
    remembered=("album", "visibility", "labels"),
    mark_stale=mark_stale,
)
