"""Each operation of `/openapi.json` and the method of the client that calls it, or why none does."""

from typing import Final, NamedTuple


class Operation(NamedTuple):
    """`method`: an attribute path of Client, empty when there is none; then `reason` says why."""

    method: str
    reason: str = ""


_BROWSER = "Part of a sign-in, which `fmsvc login` or a browser does."
_SAME = "Another address of an operation that has a method."
_OPERATOR = "For operators and their monitoring."
_PLAYER = "A player asks for it; `stream_url` of a track is its address."
_AUTHORIZATION = "For authorization servers."

OPERATIONS: Final[dict[str, Operation]] = {
    "add_track": Operation("playlists.add_track"),
    "album_archive": Operation("albums.archive"),
    "album_by_id": Operation("albums.get"),
    "albums_of": Operation("albums.list"),
    "callback": Operation("", _BROWSER),
    "change_album": Operation("albums.update"),
    "change_comment": Operation("comments.update"),
    "change_playlist": Operation("playlists.update"),
    "change_track": Operation("tracks.update"),
    "comment_on_track": Operation("comments.add"),
    "delete_album": Operation("albums.delete"),
    "delete_comment": Operation("comments.delete"),
    "delete_playlist": Operation("playlists.delete"),
    "delete_track": Operation("tracks.delete"),
    "download_file": Operation("", _SAME),
    "download_file_alias": Operation("", _SAME),
    "download_track": Operation("tracks.download"),
    "drop_account": Operation("session.drop_account"),
    "exchange": Operation("", _BROWSER),
    "get_album": Operation("albums.get_by_slug"),
    "get_artist": Operation("artists.get"),
    "get_capabilities": Operation("capabilities"),
    "get_oembed": Operation("oembed"),
    "get_playlist": Operation("playlists.get"),
    "get_preferences": Operation("preferences.get"),
    "get_publishing_job": Operation("jobs.get"),
    "get_track": Operation("tracks.get"),
    "get_upload": Operation("tracks.upload_progress"),
    "health": Operation("", _OPERATOR),
    "like_track": Operation("tracks.like"),
    "liked_tracks": Operation("artists.likes"),
    "list_albums": Operation("albums.list"),
    "list_developer_tokens": Operation("session.developer_tokens"),
    "list_revisions": Operation("tracks.revisions"),
    "list_tags": Operation("tags.list"),
    "list_tracks": Operation("tracks.list"),
    "logout": Operation("session.logout"),
    "make_album": Operation("albums.create"),
    "make_playlist": Operation("playlists.create"),
    "me": Operation("me"),
    "measured": Operation("", _OPERATOR),
    "oauth_client_metadata": Operation("", _AUTHORIZATION),
    "oauth_client_metadata_alias": Operation("", _AUTHORIZATION),
    "oauth_keys": Operation("", _AUTHORIZATION),
    "openapi": Operation("", "This table is made from it."),
    "own_playlists": Operation("playlists.list"),
    "own_profile": Operation("artists.me"),
    "own_tracks": Operation("tracks.my"),
    "play_track": Operation("tracks.play"),
    "playlist_by_uri": Operation("playlists.get_by_uri"),
    "playlists_of": Operation("playlists.by_artist"),
    "publish_album_anew": Operation("publishing.set_album"),
    "publish_anew": Operation("publishing.set"),
    "publish_track": Operation("tracks.upload"),
    "put_cover": Operation("albums.set_cover"),
    "put_preferences": Operation("preferences.update"),
    "put_profile": Operation("artists.update"),
    "ready": Operation("ready"),
    "recommend_tracks": Operation("playlists.recommendations"),
    "remove_track": Operation("playlists.remove_track"),
    "reorder_playlist": Operation("playlists.reorder"),
    "replace_audio": Operation("tracks.replace_audio"),
    "restore_revision": Operation("tracks.restore_revision"),
    "revoke_developer_token": Operation("session.revoke_developer_token"),
    "search": Operation("discover.search"),
    "start": Operation("", _BROWSER),
    "start_add_account": Operation("", _BROWSER),
    "start_by_link": Operation("", _BROWSER),
    "start_developer_token": Operation("", _BROWSER),
    "start_scope_upgrade": Operation("", _BROWSER),
    "stream_file": Operation("", _PLAYER),
    "stream_track": Operation("", _PLAYER),
    "switch_account": Operation("session.switch_account"),
    "top_tracks": Operation("discover.top_tracks"),
    "totals": Operation("stats"),
    "track_by_uri": Operation("tracks.get_by_uri"),
    "track_comments": Operation("comments.list"),
    "track_likes": Operation("tracks.likers"),
    "track_proof": Operation("tracks.proof"),
    "tracks_by_tag": Operation("tags.tracks"),
    "tracks_liked": Operation("tracks.liked"),
    "unlike_track": Operation("tracks.unlike"),
    "watch_upload": Operation("tracks.upload"),
}
