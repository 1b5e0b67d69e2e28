"""What tables and items show of the API's answers, by the names of its members."""

from typing import Final

TRACKS: Final = ("id", "title", "artist", "play_count")
OWN_TRACKS: Final = ("id", "title", "album.title", "visibility", "play_count")
LIKED_TRACKS: Final = ("id", "title", "artist", "like_count")
TRACK: Final = (
    "id",
    "title",
    "artist",
    "artist_handle",
    "album.title",
    "tags",
    "duration",
    "play_count",
    "like_count",
    "comment_count",
    "visibility",
    "downloadable",
    "description",
    "created_at",
    "atproto_record_uri",
)
ALBUMS: Final = ("id", "title", "artist", "track_count", "total_plays")
ALBUM: Final = (*ALBUMS, "description", "uri")
PLAYLISTS: Final = ("id", "name", "owner_handle", "track_count", "show_on_profile")
PLAYLIST: Final = (*PLAYLISTS, "atproto_record_uri")
PROFILE: Final = ("did", "handle", "display_name", "bio", "support_url", "show_liked_on_profile")
COMMENTS: Final = ("id", "timestamp_ms", "user_handle", "text")
REVISIONS: Final = ("id", "created_at", "file_type", "duration", "audio_storage")
JOB: Final = ("job_id", "status", "message", "updated_track_ids", "preserved_track_ids", "failed_track_ids")
