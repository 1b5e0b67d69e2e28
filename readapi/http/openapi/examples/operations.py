"""Every operation's example: its parameters, its request body, its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from readapi.http.openapi.examples import names, service
from readapi.http.openapi.examples import values as of
from readapi.http.openapi.examples.names import BASE, DID, HANDLE, PDS

FILE = "(the bytes of the file)"


@dataclass(frozen=True, slots=True)
class Example:
    """`asked`: parameters by name. `sent`: the request body. `answer`: JSON or text, else None."""

    answer: Any = None
    sent: Mapping[str, Any] | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)


def _track_example(answer: Any = None, sent: Mapping[str, Any] | None = None, **more: Any) -> Example:
    return Example(answer, sent, {"track_id": names.TRACK_ID, **more})


def _album_example(answer: Any = None, sent: Mapping[str, Any] | None = None) -> Example:
    return Example(answer, sent, {"album_id": names.ALBUM_ID})


def _playlist_example(answer: Any = None, sent: Mapping[str, Any] | None = None, **more: Any) -> Example:
    return Example(answer, sent, {"playlist_id": names.PLAYLIST_ID, **more})


def _file_example() -> Example:
    return Example(asked={"file_id": names.FILE_ID})


_TO_VISIT = {"auth_url": names.AUTH_URL}
_WHOLE_ALBUM = {"metadata": of.ALBUM_METADATA, "tracks": [of.TRACK]}
_WHOLE_PLAYLIST = {**of.PLAYLIST, "tracks": [of.TRACK]}
_TRACKS = {"tracks": [of.TRACK], **of.LAST_PAGE}
_OWN_TRACKS = {**_TRACKS, "total": 1, "incomplete": None}
_PLACE = {"uri": names.TRACK_URI, "cid": names.TRACK_CID}
_SETTINGS = {"settings": of.TEMPLATE}

_ALBUMS = {
    "list_albums": Example({"albums": [of.ALBUM], **of.LAST_PAGE}, asked={"limit": 20}),
    "make_album": Example({**of.ALBUM_METADATA, "title": "Second Light"}, {"title": "Second Light"}),
    "albums_of": Example({"albums": [of.ALBUM], **of.LAST_PAGE}, asked={"album_or_artist": HANDLE}),
    "change_album": Example(
        {**of.ALBUM_METADATA, "description": "By the sea.", "publishing_defaults": of.TEMPLATE},
        {"description": "By the sea.", "publishing_defaults": of.TEMPLATE},
        {"album_or_artist": names.ALBUM_ID},
    ),
    "delete_album": Example(of.DELETED, asked={"album_or_artist": names.ALBUM_ID}),
    "get_album": Example(_WHOLE_ALBUM, asked={"handle": HANDLE, "slug": "first-light"}),
    "put_cover": _album_example({**of.ALBUM_METADATA, "image_url": names.PICTURE}, {"image": FILE}),
    "album_by_id": _album_example(_WHOLE_ALBUM),
    "album_archive": _album_example(),
    "publish_album_anew": _album_example(
        {**of.JOB_ACCEPTED, "selected_track_ids": [], "preserved_track_ids": [names.TRACK_ID]},
        {**_SETTINGS, "replace_overrides": False},
    ),
}

_PEOPLE = {
    "own_profile": Example(of.ARTIST),
    "put_profile": Example({**of.ARTIST, "bio": "Slow songs."}, {"bio": "Slow songs."}),
    "get_artist": Example(of.ARTIST, asked={"artist": HANDLE}),
    "liked_tracks": Example({"user": of.PERSON, **_TRACKS, "count": 1}, asked={"handle": HANDLE}),
    "own_tracks": Example(_OWN_TRACKS, asked={"q": "harbour", "sort": "popular"}),
    "tracks_liked": Example(_OWN_TRACKS, asked={"limit": 20}),
}

_AUDIO = {
    "stream_track": _track_example(),
    "download_track": _track_example(),
    "stream_file": _file_example(),
    "download_file": _file_example(),
    "download_file_alias": _file_example(),
}

_SIGNING_IN = {
    "start": Example(_TO_VISIT, asked={"handle": HANDLE}),
    "start_by_link": Example(_TO_VISIT, asked={"handle": HANDLE}),
    "callback": Example(
        {"exchange_token": names.EXCHANGE_TOKEN},
        asked={"state": names.STATE, "iss": PDS, "code": names.CODE},
    ),
    "exchange": Example(
        {"session_id": names.SESSION_ID, "did": DID, "handle": HANDLE},
        {"exchange_token": names.EXCHANGE_TOKEN},
    ),
    "me": Example(
        {
            "did": DID,
            "handle": HANDLE,
            "display_name": "Mara",
            "scopes": ["atproto", "blob:*/*", "repo:fm.svc.like", "repo:fm.svc.track"],
            "linked_accounts": [
                {"did": DID, "handle": HANDLE, "active": True},
                {"did": names.OTHER_DID, "handle": names.OTHER_HANDLE, "active": False},
            ],
        }
    ),
    "logout": Example(),
    "start_scope_upgrade": Example(_TO_VISIT, {"scopes": ["repo:fm.scrobbler.feed.play"]}),
    "start_add_account": Example(_TO_VISIT, {"handle": names.OTHER_HANDLE}),
    "switch_account": Example(
        {"did": DID, "handle": HANDLE, "session_id": names.SESSION_ID}, {"target_did": DID}
    ),
    "drop_account": Example(asked={"did": names.OTHER_DID}),
    "start_developer_token": Example(_TO_VISIT, {"name": "radio", "expires_in_days": 90}),
    "list_developer_tokens": Example(
        {
            "tokens": [
                {
                    "id": names.TOKEN_ID,
                    "name": "radio",
                    "prefix": "fmsvc_7PJyFC",
                    "created_at": of.MADE,
                    "last_used_at": None,
                    "expires_at": "2027-02-18T18:00:23.048000Z",
                    "ended_because": None,
                }
            ]
        }
    ),
    "revoke_developer_token": Example(asked={"token_id": names.TOKEN_ID}),
}

_WEBHOOKS = {
    "list_webhooks": Example({"webhooks": [service.WEBHOOK]}),
    "create_webhook": Example(
        {"webhook": service.WEBHOOK, "secret": service.WEBHOOK_SECRET},
        {
            "url": names.RECEIVER,
            "token_id": names.TOKEN_ID,
            "wanted_collections": ["fm.svc.track"],
            "tags": ["ambient"],
        },
    ),
    "rotate_webhook_secret": Example(
        {"secret": service.WEBHOOK_SECRET, "previous_until": of.CHANGED},
        asked={"webhook_id": names.WEBHOOK_ID},
    ),
    "resume_webhook": Example(service.WEBHOOK, asked={"webhook_id": names.WEBHOOK_ID}),
    "delete_webhook": Example(asked={"webhook_id": names.WEBHOOK_ID}),
}

_PLAYLISTS = {
    "own_playlists": Example([of.PLAYLIST]),
    "playlist_archive": _playlist_example(),
    "playlists_of": Example([{**of.PLAYLIST, "show_on_profile": True}], asked={"did": DID}),
    "playlist_by_uri": Example(_WHOLE_PLAYLIST, asked={"uri": names.PLAYLIST_URI}),
    "get_playlist": _playlist_example(_WHOLE_PLAYLIST),
    "recommend_tracks": _playlist_example(
        {"tracks": [{**of.TRACK, "artist_display_name": "Mara"}], "available": True}, limit=5
    ),
    "make_playlist": Example(
        {**of.PLAYLIST, "track_count": 0}, {"name": "Evening", "show_on_profile": False}
    ),
    "change_playlist": _playlist_example({**of.PLAYLIST, "name": "Late Evening"}, {"name": "Late Evening"}),
    "add_track": _playlist_example(of.PLAYLIST, {"track_uri": names.TRACK_URI, "track_cid": names.TRACK_CID}),
    "remove_track": _playlist_example({**of.PLAYLIST, "track_count": 0}, uri=names.TRACK_URI),
    "delete_playlist": _playlist_example(of.DELETED),
    "reorder_playlist": _playlist_example(of.PLAYLIST, {"items": [_PLACE]}),
}

_REACTIONS = {
    "like_track": _track_example({"liked": True}),
    "unlike_track": _track_example({"liked": False}),
    "comment_on_track": _track_example(of.COMMENT, {"text": "The strings here…", "timestamp_ms": 500}),
    "change_comment": Example(
        {**of.COMMENT, "text": "These strings!", "updated_at": of.CHANGED},
        {"text": "These strings!"},
        {"comment_id": names.COMMENT_ID},
    ),
    "delete_comment": Example(of.DELETED, asked={"comment_id": names.COMMENT_ID}),
    "play_track": _track_example({"play_count": 13}),
    "who_is_listening": Example(
        {"listeners": [{"did": DID, "handle": HANDLE, "started_at": of.MADE, "track": of.TRACK}]}
    ),
}

_TRACKS_THEMSELVES = {
    "list_tracks": Example(_TRACKS, asked={"artist_did": DID, "tags": ["ambient"], "limit": 20}),
    "top_tracks": Example([of.TRACK], asked={"period": "month", "limit": 10}),
    "list_tags": Example([{"name": "ambient", "track_count": 1, "total_plays": 12}], asked={"q": "amb"}),
    "tracks_by_tag": Example(
        {"tag": {"name": "ambient", "track_count": 1}, **_TRACKS}, asked={"name": "ambient"}
    ),
    "track_by_uri": Example(of.TRACK, asked={"uri": names.TRACK_URI}),
    "get_track": _track_example(of.TRACK),
    "track_proof": _track_example(of.PROOF),
    "track_likes": _track_example(
        {"users": [{**of.PERSON, "liked_at": of.MADE}], "count": 1, **of.LAST_PAGE}
    ),
    "track_comments": _track_example({"comments": [of.COMMENT], "count": 1, **of.LAST_PAGE}),
    "change_track": _track_example({**of.TRACK, "description": "Two takes."}, {"description": "Two takes."}),
    "delete_track": _track_example({"message": "The track is deleted."}),
    "search": Example(of.FOUND, asked={"q": "harbour", "limit": 10}),
    "suggest_names": Example(of.SUGGESTED, asked={"q": "harb"}),
}

_PUBLISHING = {
    "publish_track": Example(
        of.UPLOAD, {"file": FILE, "title": "Harbour Lights", "tags": ["ambient"], "description": "One take."}
    ),
    "get_upload": Example(of.PROGRESS, asked={"upload_id": names.UPLOAD_ID}),
    "watch_upload": Example(service.EVENTS, asked={"upload_id": names.UPLOAD_ID}),
    "replace_audio": _track_example(of.UPLOAD, {"file": FILE}),
    "list_revisions": _track_example({"track_id": names.TRACK_ID, "revisions": [of.REVISION]}),
    "restore_revision": _track_example(of.REVISION, revision_id=names.REVISION_ID),
    "publish_anew": _track_example(of.JOB_ACCEPTED, _SETTINGS),
    "get_publishing_job": Example(of.JOB, asked={"job_id": names.JOB_ID}),
    "get_capabilities": Example(of.CAPABILITIES),
    "get_preferences": Example(of.PREFERENCES),
    "put_preferences": Example(
        of.PREFERENCES, {"publishing_defaults": of.TEMPLATE, "scrobbling": False, "show_playing": True}
    ),
}

_META = {
    "health": Example({"status": "ok"}),
    "ready": Example(service.READY),
    "measured": Example(service.MEASURED),
    "openapi": Example({"openapi": "3.1.1", "info": {"title": "fmsvc"}, "paths": {}}),
    "oauth_client_metadata": Example(service.CLIENT),
    "oauth_client_metadata_alias": Example(service.CLIENT),
    "oauth_keys": Example({"keys": []}),
    "service_document": Example(service.DID_DOCUMENT),
    "follow_changes": Example(
        service.CHANGES, asked={"wantedCollections": ["fm.svc.track"], "tag": ["ambient"]}
    ),
    "list_exports": Example(service.MANIFEST),
    "fetch_export": Example(asked={"export": names.EXPORT, "file": "tracks.parquet"}),
    "run_sql": Example(service.SQL_ANSWER, {"query": "select count(*) as likes from likes"}),
    "sql_schema": Example(service.SQL_SCHEMA),
    "totals": Example(service.TOTALS),
    "count_series": Example(
        service.SERIES, asked={"metric": "likes", "bucket": "week", "from": "2026-01-05", "to": "2026-01-19"}
    ),
    "get_oembed": Example(of.OEMBED, asked={"url": f"{BASE}/track/{names.TRACK_ID}", "maxwidth": 600}),
}

EXAMPLES: Mapping[str, Example] = {
    **_WEBHOOKS,  # before the tokens that they belong to are revoked
    **_ALBUMS,
    **_PEOPLE,
    **_AUDIO,
    **_SIGNING_IN,
    **_PLAYLISTS,
    **_REACTIONS,
    **_TRACKS_THEMSELVES,
    **_PUBLISHING,
    **_META,
}  # by the function that serves the operation
