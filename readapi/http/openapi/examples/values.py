"""Example answers: an artist, a track on an album, a playlist, comments and likes."""

from typing import Any

from readapi.http.openapi.examples.names import (
    ALBUM_ID,
    BASE,
    COMMENT_ID,
    DID,
    FILE_ID,
    HANDLE,
    JOB_ID,
    PDS,
    PICTURE,
    PLAYLIST_ID,
    PLAYLIST_URI,
    REVISION_ID,
    TRACK_CID,
    TRACK_ID,
    TRACK_RKEY,
    TRACK_URI,
    UPLOAD_ID,
)

Value = dict[str, Any]

MADE, CHANGED = "2026-11-20T18:00:23.048000Z", "2026-11-21T09:30:00.000000Z"
LAST_PAGE: Value = {"next_cursor": None, "has_more": False}
DELETED: Value = {"deleted": True}

TEMPLATE: Value = {
    "access": {"listening": "public", "downloads": "open", "visibility": "public"},
    "attach_rights": False,
}

TRACK: Value = {
    "id": TRACK_ID,
    "uri": TRACK_URI,
    "cid": TRACK_CID,
    "title": "Harbour Lights",
    "artist": "Mara",
    "artist_handle": HANDLE,
    "artist_did": DID,
    "artist_avatar_url": None,
    "file_type": "wav",
    "duration": 214,
    "description": "One take.",
    "features": [],
    "album": {"id": ALBUM_ID, "title": "First Light", "slug": "first-light", "image_url": None},
    "tags": ["ambient"],
    "image_url": PICTURE,
    "thumbnail_url": PICTURE,
    "created_at": MADE,
    "updated_at": None,
    "indexed_at": MADE,
    "like_count": 1,
    "comment_count": 1,
    "play_count": 12,
    "publishing": TEMPLATE,
    "policy_origin": "portal",
    "visibility": "public",
    "unlisted": False,
    "download_policy": "open",
    "support_gate": None,
    "file_id": FILE_ID,
    "stream_url": f"{BASE}/tracks/{TRACK_ID}/stream",
    "r2_url": f"{BASE}/tracks/{TRACK_ID}/stream",
    "audio_storage": "pds",
    "pds_blob_cid": FILE_ID,
    "atproto_record_uri": TRACK_URI,
    "atproto_record_cid": TRACK_CID,
    "atproto_record_url": (
        f"{PDS}/xrpc/com.atproto.repo.getRecord?repo={DID}&collection=fm.svc.track&rkey={TRACK_RKEY}"
    ),
    "labels": [],
    "label_details": [],
    "rights": None,
    "is_liked": True,
    "gated": False,
    "downloadable": True,
}

ALBUM: Value = {
    "id": ALBUM_ID,
    "title": "First Light",
    "slug": "first-light",
    "artist": "Mara",
    "artist_handle": HANDLE,
    "track_count": 1,
    "total_plays": 12,
    "image_url": None,
    "labels": [],
    "label_details": [],
}

ALBUM_METADATA: Value = {
    **ALBUM,
    "uri": f"at://{DID}/fm.svc.list/3n2wcfkvee4qa",
    "description": None,
    "artist_did": DID,
    "created_at": MADE,
    "publishing_defaults": None,
}

PLAYLIST: Value = {
    "id": PLAYLIST_ID,
    "name": "Evening",
    "owner_did": DID,
    "owner_handle": HANDLE,
    "owner_display_name": "Mara",
    "track_count": 1,
    "image_url": None,
    "show_on_profile": False,
    "atproto_record_uri": PLAYLIST_URI,
    "created_at": MADE,
    "labels": [],
    "label_details": [],
}

ARTIST: Value = {
    "did": DID,
    "handle": HANDLE,
    "display_name": "Mara",
    "bio": None,
    "avatar_url": None,
    "support_url": None,
    "show_liked_on_profile": True,
    "created_at": MADE,
    "updated_at": None,
    "labels": [],
    "label_details": [],
}

PERSON: Value = {"did": DID, "handle": HANDLE, "display_name": "Mara", "avatar_url": None}

COMMENT: Value = {
    "id": COMMENT_ID,
    "uri": f"at://{DID}/fm.svc.comment/3n2wcfm2yw22c",
    "user_did": DID,
    "user_handle": HANDLE,
    "user_display_name": "Mara",
    "user_avatar_url": None,
    "text": "The strings here…",
    "timestamp_ms": 500,
    "created_at": MADE,
    "updated_at": None,
    "labels": [],
    "label_details": [],
}

PROOF: Value = {
    "uri": TRACK_URI,
    "did": DID,
    "cid": TRACK_CID,
    "rev": "3n2wci7hbml26",
    "verified": "commit",
    "verified_at": MADE,
    "proof_url": (
        f"{PDS}/xrpc/com.atproto.sync.getRecord?did={DID}&collection=fm.svc.track&rkey={TRACK_RKEY}"
    ),
}

FOUND: Value = {
    "results": [
        {
            "type": "track",
            "id": TRACK_ID,
            "title": "Harbour Lights",
            "artist_handle": HANDLE,
            "artist_display_name": "Mara",
            "image_url": PICTURE,
            "relevance": 0.7214,
            "highlight": "<mark>Harbour</mark> Lights",
        }
    ],
    "counts": {"tracks": 1, "artists": 0, "albums": 0, "playlists": 0, "tags": 0},
    **LAST_PAGE,
}

SUGGESTED: Value = {
    "suggestions": [
        {"type": "track", "name": "Harbour Lights", "by": "Mara"},
        {"type": "tag", "name": "harbour", "by": None},
    ]
}

OEMBED: Value = {
    "version": "1.0",
    "type": "rich",
    "provider_name": "fmsvc",
    "provider_url": f"{BASE}/",
    "title": "Harbour Lights",
    "author_name": "Mara",
    "author_url": f"{BASE}/u/{HANDLE}",
    "width": 600,
    "height": 165,
    "thumbnail_url": PICTURE,
    "thumbnail_width": 640,
    "thumbnail_height": 640,
    "html": f'<iframe src="{BASE}/embed/track/{TRACK_ID}" width="600" height="165"></iframe>',
    "cache_age": 3600,
}

UPLOAD: Value = {
    "upload_id": UPLOAD_ID,
    "status": "pending",
    "message": "The file is stored; the track will be published shortly.",
}

PROGRESS: Value = {
    "upload_id": UPLOAD_ID,
    "status": "completed",
    "message": "The track is published.",
    "phase": "completed",
    "progress_pct": 100,
    "track_id": TRACK_ID,
    "atproto_uri": TRACK_URI,
    "error": None,
}

REVISION: Value = {
    "id": REVISION_ID,
    "track_id": TRACK_ID,
    "created_at": CHANGED,
    "file_type": "wav",
    "original_file_type": "wav",
    "audio_storage": "pds",
    "duration": 214,
    "was_gated": False,
}

JOB_ACCEPTED: Value = {
    "job_id": JOB_ID,
    "status": "pending",
    "message": "The change is queued. Request the job to follow it.",
}

JOB: Value = {
    "job_id": JOB_ID,
    "status": "completed",
    "message": None,
    "selected_track_ids": [TRACK_ID],
    "preserved_track_ids": [],
    "updated_track_ids": [TRACK_ID],
    "failed_track_ids": [],
    "failures": [],
    "created_at": CHANGED,
    "completed_at": CHANGED,
}

PREFERENCES: Value = {
    "publishing_defaults": TEMPLATE,
    "scrobbling": False,
    "rights": None,
    "show_playing": True,
}
_YES: Value = {"available": True, "reason": None}

CAPABILITIES: Value = {
    "audiences": {
        "public": _YES,
        "signed_in": _YES,
        "supporters": {"available": False, "reason": "This service cannot check who supports an artist."},
        "owner": _YES,
        "space": {"available": False, "reason": "Your server does not offer private Spaces."},
    },
    "downloads": {
        "open": _YES,
        "ask": _YES,
        "supporters": {"available": False, "reason": "This service cannot check who supports an artist."},
        "off": _YES,
    },
}
