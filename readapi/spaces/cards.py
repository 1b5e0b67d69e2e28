"""Builds the API's card of a track in a Space from its record, at each request. Pure."""

from collections.abc import Mapping
from typing import Any

import libipld
import orjson

from readapi.audio.blob_access import BlobAccess, SpaceCard
from schemas import data_model, datetimes, records
from schemas.audio import hidden_file
from schemas.collections import Collections
from schemas.data_model import DataModelError, block_cid
from schemas.ids import Cid, checked_id, normalise_tag, record_id, record_key
from schemas.labels import label_members
from schemas.records import Track
from schemas.spaces import InSpace
from schemas.stored import pack_document

People = Mapping[str, Mapping[str, Any]]  # handle, display name, avatar by DID
MOST_BYTES = 256 << 10  # of a record as JSON: more than servers accept, and far more than a track needs
_OPEN = "open"  # downloads of a record without access settings


def parse_track(track: InSpace, cid: Cid, value: dict[str, Any], collections: Collections) -> Track | None:
    """Parse a record; None unless it has this CID and fits its lexicon. Slow for large records."""
    try:
        if len(orjson.dumps(value)) > MOST_BYTES:
            return None
        block: bytes = libipld.encode_dag_cbor(data_model.read_record(value))
        if block_cid(block) != cid:
            return None
    except (DataModelError, RecursionError, orjson.JSONEncodeError):
        return None
    parsed = records.parse_record(track.collection, collections, block, track.rkey)
    return parsed if isinstance(parsed, Track) else None


def make_card(
    track: InSpace, cid: Cid, record: Track, people: People, base_url: str, entry: BlobAccess | None = None
) -> SpaceCard:
    """The card of a parsed record."""
    uri = str(track)
    blob, downloads = record.audio_blob, record.access.downloads if record.access else _OPEN
    fields = {
        "doc": f"track:{record_key(uri)}",
        "did": track.did,
        "address": checked_id(uri).encode(),
        "access": f"space {downloads} private none".encode(),
        "proof": orjson.dumps({"uri": uri}),
        "audio": orjson.dumps(
            {"cid": blob.ref if blob else None, "mime": blob.mime_type if blob else None, "url": None}
        ),
        "card": orjson.dumps(_card_members(track, cid, record, people))[:-1],
    }
    return SpaceCard(memoryview(pack_document(fields)), base_url, track.space, entry)


def _card_members(track: InSpace, cid: Cid, record: Track, people: People) -> dict[str, Any]:
    """The members of an API track that do not depend on the viewer, from the record alone."""
    uri, artist, blob = str(track), people[track.did], record.audio_blob
    downloads = record.access.downloads if record.access else _OPEN
    created_at = datetimes.render(record.created_at)
    labels = record.labels.values if record.labels else []
    policy = {"listening": "space", "downloads": downloads, "visibility": "private"}
    return {
        "id": record_id(uri),
        "uri": uri,
        "cid": cid,
        "title": record.title,
        "artist": artist["display_name"] or record.artist,
        "artist_handle": artist["handle"],
        "artist_did": track.did,
        "artist_avatar_url": artist["avatar_url"],
        "file_id": hidden_file(track.did, blob.ref) if blob else "",
        "file_type": record.file_type,
        "duration": record.duration,
        "description": record.description,
        "features": [_feature(people[feature.did]) for feature in record.features or ()],
        "album": None,
        "tags": list(dict.fromkeys(normalise_tag(name) for name in record.tags or ())),
        "image_url": None,
        "thumbnail_url": None,
        "created_at": created_at,
        "updated_at": datetimes.render(record.updated_at) if record.updated_at else None,
        "indexed_at": created_at,
        "like_count": 0,
        "comment_count": 0,
        "play_count": 0,
        "publishing": {"access": policy, "attach_rights": record.rights is not None},
        "policy_origin": record.policy_origin,
        "visibility": "private",
        "unlisted": False,
        "download_policy": downloads,
        "support_gate": {"type": "downloads"} if downloads == "supporters" else None,
        "audio_storage": "pds" if blob else "none",
        "pds_blob_cid": None,
        "atproto_record_uri": uri,
        "atproto_record_cid": cid,
        "atproto_record_url": uri,
        **label_members(
            {"val": label.val, "src": track.did, "uri": uri, "cid": cid, "cts": created_at, "exp": None}
            for label in labels
        ),
        "rights": orjson.loads(record.rights.model_dump_json(exclude_none=True)) if record.rights else None,
    }


def _feature(person: Mapping[str, Any]) -> dict[str, Any]:
    return {**person, "display_name": person["display_name"] or person["handle"]}
