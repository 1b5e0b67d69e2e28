"""Tracks as the API answers with them, to render pages from."""

from typing import Any

from readapi.pages.urls import Addresses
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.playlists import PlaylistWithTracks
from schemas.api.tracks import Track

BASE_URL = "https://music.example"
ADDRESSES = Addresses(BASE_URL)
DID = "did:plc:abcdefghijklmnopqrstuvwx"
AUDIO = f"https://pds.example/xrpc/com.atproto.sync.getBlob?did={DID}&cid=bafkaudio"
COVER_CID = "bafkreibnoelefnzgwbcacyt4vh52ymxvzbjq7mmqhtcnwarfq4lzegsiqe"
COVER = f"https://pds.example/xrpc/com.atproto.sync.getBlob?did={DID}&cid={COVER_CID}"
SHOWN_COVER = f"{BASE_URL}/img/{COVER_CID}/800.webp"
LIST_ID = "5f0f7c3e-7f0d-5a6e-9a4e-5a7b7c3e7f0d"
TIME = "2026-03-12T10:00:00Z"
OPEN = {"listening": "public", "downloads": "open", "visibility": "public"}

HOSTILE = {
    "markup": "</title></script><img src=x onerror=alert(1)><b>bold</b>",
    "quotes": "\"'`><' onmouseover=\"alert(1)",
    "entities": "&lt;script&gt; &amp;amp; &#60; &",
    "directions": "\u202edesrever\u2066 \u200fleft",
    "control": "nul\0 bell\x07 escape\x1b[31m del\x7f next\x85",
    "lines": "one\u2028two\u2029three\nfour\r\nfive",
    "templates": "{{ 7 * 7 }} {% raw %} ${7*7} <%= 7 %>",
    "comment": "<!-- --> <![CDATA[ ]]> ]]>",
    "long": "ö" * 10_240,
    "outside the plane": "🎵𝕏 e\u0301\u0301\u0301\u0301",
}


def track(track_id: int = 7, **changes: Any) -> Track:
    """A public track with sound and a picture; `changes` are its fields."""
    uri = f"at://{DID}/fm.svc.track/3kabcdefghijk"
    fields: dict[str, Any] = {
        "id": track_id, "uri": uri, "cid": "bafyrecord", "title": "Slow Water", "artist": "Mara Lindqvist",
        "artist_handle": "mara.example", "artist_did": DID, "artist_avatar_url": None,
        "file_id": "bafkaudio", "file_type": "mp3", "duration": 187, "description": None, "features": [],
        "album": None, "tags": [], "image_url": COVER, "thumbnail_url": COVER,
        "created_at": TIME, "updated_at": None, "indexed_at": TIME,
        "like_count": 12, "comment_count": 1, "play_count": 0,
        "publishing": {"access": OPEN, "attach_rights": False}, "policy_origin": None,
        "visibility": "public", "unlisted": False, "download_policy": "open", "support_gate": None,
        "stream_url": AUDIO, "r2_url": AUDIO, "audio_storage": "pds", "pds_blob_cid": "bafkaudio",
        "atproto_record_uri": uri, "atproto_record_cid": "bafyrecord",
        "atproto_record_url": "https://pds.example/r",
        "labels": [], "label_details": [], "rights": None,
        "is_liked": False, "gated": False, "downloadable": True,
    }  # fmt: skip
    return Track.model_validate(fields | changes)


def restricted(listening: str, **changes: Any) -> Track:
    """A track whose sound strangers may not hear, as the API answers with it."""
    access = {"listening": listening, "downloads": "off", "visibility": "public"}
    silent = {
        "publishing": {"access": access, "attach_rights": False},
        "gated": True,
        "downloadable": False,
        "audio_storage": "none",
        "stream_url": f"{BASE_URL}/tracks/7/stream",
        "r2_url": None,
    }
    return track(**silent | changes)


def album(**changes: Any) -> AlbumMetadata:
    """An album without its tracks."""
    fields: dict[str, Any] = {
        "id": LIST_ID, "uri": f"at://{DID}/fm.svc.list/3klist",
        "title": "Ninety Nights", "slug": "ninety-nights",
        "description": None, "artist": "Mara Lindqvist", "artist_handle": "mara.example", "artist_did": DID,
        "track_count": 2, "total_plays": 0, "image_url": COVER, "created_at": TIME,
        "labels": [], "label_details": [],
    }  # fmt: skip
    return AlbumMetadata.model_validate(fields | changes)


def playlist(*tracks: Track, **changes: Any) -> PlaylistWithTracks:
    """A playlist of these tracks."""
    fields: dict[str, Any] = {
        "id": LIST_ID, "name": "Evening", "owner_did": DID, "owner_handle": "mara.example",
        "owner_display_name": "Mara Lindqvist", "track_count": len(tracks), "image_url": None,
        "show_on_profile": True, "atproto_record_uri": f"at://{DID}/fm.svc.list/3klist", "created_at": TIME,
        "labels": [], "label_details": [],
        "tracks": tracks,
    }  # fmt: skip
    return PlaylistWithTracks.model_validate(fields | changes)


def artist(**changes: Any) -> Artist:
    """Somebody with a profile."""
    fields: dict[str, Any] = {
        "did": DID, "handle": "mara.example", "display_name": "Mara Lindqvist", "bio": None,
        "avatar_url": None, "support_url": None, "show_liked_on_profile": True,
        "created_at": TIME, "labels": [], "label_details": [], "updated_at": None,
    }  # fmt: skip
    return Artist.model_validate(fields | changes)
