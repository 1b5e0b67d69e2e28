"""Example answers about the service itself, uploads and jobs."""

from readapi.http.openapi.examples.names import (
    BASE,
    DID,
    EXPORT,
    RECEIVER,
    TOKEN_ID,
    TRACK_ID,
    TRACK_RKEY,
    TRACK_URI,
    UPLOAD_ID,
    WEBHOOK_ID,
)
from readapi.http.openapi.examples.values import MADE, Value

TOTALS: Value = {
    "total_plays": 12,
    "total_tracks": 1,
    "total_artists": 1,
    "total_duration_seconds": 214,
    "total_likes": 1,
    "total_comments": 1,
    "total_albums": 1,
    "total_playlists": 1,
    "as_of": MADE,
}

DID_DOCUMENT: Value = {
    "@context": ["https://www.w3.org/ns/did/v1"],
    "id": f"did:web:{BASE.removeprefix('https://')}",
    "service": [{"id": "#fmsvc", "type": "FmsvcAppView", "serviceEndpoint": BASE}],
}

_TABLES: list[Value] = [
    {
        "name": "track_tags",
        "key": ["track_uri", "position"],
        "description": "Tags of tracks.",
        "columns": [{"name": "tag", "type": "VARCHAR", "description": "The tag, in lower case."}],
    }
]

MANIFEST: Value = {
    "service": BASE,
    "license": None,
    "contact": None,
    "lineage": "5f1c0e9a7b3d2846",
    "tables": _TABLES,
    "exports": [
        {
            "kind": "full",
            "number": 1,
            "schema_version": 1,
            "snapshot_at": MADE,
            "made_at": MADE,
            "positions": [{"source": "wss://relay.example", "seq": 2048, "time": MADE}],
            "files": [
                {
                    "table": "tracks",
                    "path": f"{EXPORT}/tracks.parquet",
                    "rows": 1,
                    "bytes": 8192,
                    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                }
            ],
        }
    ],
    "iceberg": None,
}

_SQL_LIMITS: Value = {"rows": 10_000, "bytes": 8 << 20, "seconds": 10.0}

SQL_ANSWER: Value = {
    "columns": [{"name": "likes", "type": "int64"}],
    "rows": [[1]],
    "truncated": False,
    "limits": _SQL_LIMITS,
}

SQL_SCHEMA: Value = {"tables": _TABLES, "functions": ["count", "sum"], "limits": _SQL_LIMITS}

SERIES: Value = {
    "metric": "likes",
    "bucket": "week",
    "buckets": ["2026-01-05T00:00:00.000Z", "2026-01-12T00:00:00.000Z"],
    "until": "2026-01-19T00:00:00.000Z",
    "series": [{"of": "all", "subject": None, "title": None, "total": 3, "values": [1, 2]}],
    "as_of": MADE,
}

READY: Value = {
    "ready": True,
    "reasons": [],
    "warnings": [],
    "index": {"open": True, "generation": 32, "documents": 17},
    "lag_seconds": 0.96,
    "snapshot": {"as_of": MADE, "age_seconds": 1.802},
    "source": {
        "name": "wss://relay.music.example",
        "connected": True,
        "error": None,
        "retry_in": None,
    },
    "indexer": {"reachable": True},
    "state": {"reachable": True},
    "audio_store": {"deleting": True, "warnings": [], "released": 0, "orphans": None},
}

MEASURED = """\
# HELP fmsvc_up Whether the process answered.
# TYPE fmsvc_up gauge
fmsvc_up{process="api-1"} 1
"""

EVENTS = f"""\
retry: 1000

id: 7
data: {{"upload_id":"{UPLOAD_ID}","status":"completed","message":"The track is published.",\
"phase":"completed","progress_pct":100,"track_id":{TRACK_ID},"atproto_uri":"{TRACK_URI}","error":null}}

"""

WEBHOOK_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD2EUs3EpO7xY="  # noqa: S105  # an example

WEBHOOK: Value = {
    "id": WEBHOOK_ID,
    "token_id": TOKEN_ID,
    "url": RECEIVER,
    "wanted_collections": ["fm.svc.track"],
    "wanted_dids": [],
    "tags": ["ambient"],
    "artists": [],
    "cards": False,
    "cursor": 1772366423000123,
    "created_at": MADE,
    "delivered_at": None,
    "state": "active",
    "failing_since": None,
    "next_attempt_at": None,
    "last_error": None,
    "paused_because": None,
}

CHANGES = f"""\
event: heartbeat
id: 1772366423000000
data: {{"kind":"heartbeat","time_us":1772366423000000}}

id: 1772366423000123
data: {{"did":"{DID}","time_us":1772366423000123,"kind":"commit","commit":{{"rev":"{TRACK_RKEY}",\
"operation":"delete","collection":"fm.svc.track","rkey":"{TRACK_RKEY}"}}}}

"""

CLIENT: Value = {
    "client_id": f"{BASE}/meta/oauth-client-metadata.json",
    "client_name": "fmsvc",
    "redirect_uris": [f"{BASE}/auth/callback"],
    "scope": "atproto repo:fm.svc.track repo:fm.svc.like",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "dpop_bound_access_tokens": True,
    "application_type": "web",
    "token_endpoint_auth_method": "none",
}
