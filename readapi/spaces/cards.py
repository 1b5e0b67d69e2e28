"""Tracks in Spaces as the API shows them: made of what their server says, when somebody asks. Pure."""

from collections.abc import Mapping
from typing import Any

import libipld
import orjson

from readapi import times
from readapi.audio.entry import Entry
from readapi.publishing.shelving import block_cid
from schemas import data_model, records
from schemas.access import Access
from schemas.audio import hidden_file
from schemas.collections import Collections
from schemas.data_model import DataModelError
from schemas.ids import Cid, normalise_tag, record_id, record_key
from schemas.records import Track
from schemas.spaces import InSpace, Space
from schemas.stored import Card, access, pack

People = Mapping[str, Mapping[str, Any]]  # handle, display name, avatar by DID
MOST_BYTES = 256 << 10  # of a record as JSON: more than servers take, and far more than a track says
_OPEN = "open"  # downloads of a record that does not say


class SpaceCard(Card):
    """A track in a Space. `entry`: what lets whoever asked for it have the recording."""

    __slots__ = ("_entry", "_space")

    def __init__(self, packed: memoryview, space: Space, entry: Entry | None) -> None:
        super().__init__(packed)
        self._space = space
        self._entry = entry

    @property
    def access(self) -> Access:
        """Whatever the record says, the Space decides who sees and hears it."""
        said = access(self.did, self.policy)
        return Access(said.artist, "space", said.downloads, "private", self._space)

    @property
    def entry(self) -> Entry | None:
        return self._entry


def read(track: InSpace, cid: Cid, value: dict[str, Any], collections: Collections) -> Track | None:
    """The record, if it has this CID and keeps to its lexicon. Takes long for large ones."""
    try:
        if len(orjson.dumps(value)) > MOST_BYTES:
            return None
        block: bytes = libipld.encode_dag_cbor(data_model.read(value))
        if block_cid(block) != cid:
            return None
    except (DataModelError, RecursionError, orjson.JSONEncodeError):
        return None
    parsed = records.parse(track.collection, collections, block, track.rkey)
    return parsed if isinstance(parsed, Track) else None


def card(
    track: InSpace, cid: Cid, record: Track, people: People, base_url: str, entry: Entry | None = None
) -> SpaceCard:
    """The card of a record that was read."""
    uri = str(track)
    blob, downloads = record.audio_blob, record.access.downloads if record.access else _OPEN
    fields = {
        "doc": f"track:{record_key(uri)}",
        "did": track.did,
        "access": f"space {downloads} private".encode(),
        "proof": orjson.dumps({"uri": uri}),
        "audio": orjson.dumps(
            {"cid": blob.ref if blob else None, "mime": blob.mime_type if blob else None, "url": None}
        ),
        "card": orjson.dumps(_told(track, cid, record, people, base_url))[:-1],
    }
    return SpaceCard(memoryview(pack(fields)), track.space, entry)


def _told(track: InSpace, cid: Cid, record: Track, people: People, base_url: str) -> dict[str, Any]:
    """The members of a Track that do not depend on who asks; nothing but the record is known of it."""
    uri, artist, blob = str(track), people[track.did], record.audio_blob
    number, downloads = record_id(uri), record.access.downloads if record.access else _OPEN
    created_at = times.render(record.created_at)
    policy = {"listening": "space", "downloads": downloads, "visibility": "private"}
    return {
        "id": number,
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
        "updated_at": None,
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
        "stream_url": f"{base_url}/tracks/{number}/stream",
        "audio_storage": "pds" if blob else "none",
        "pds_blob_cid": None,
        "atproto_record_uri": uri,
        "atproto_record_cid": cid,
        "atproto_record_url": uri,
        "labels": [label.val for label in record.labels.values] if record.labels else [],
        "rights": orjson.loads(record.rights.model_dump_json(exclude_none=True)) if record.rights else None,
    }


def _feature(person: Mapping[str, Any]) -> dict[str, Any]:
    return {**person, "display_name": person["display_name"] or person["handle"]}
