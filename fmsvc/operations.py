"""Each operation of `/openapi.json`: its method, command and MCP tool, or why there is none.

docs/clients.md is made from this table by `make clients`; tests compare it with the description of the API,
both clients, the command line and the MCP server.
"""

from typing import Final, NamedTuple


class Missing(str):
    """Why a column is empty: one sentence."""

    __slots__ = ()


class Operation(NamedTuple):
    """A name, or the reason for none, in each column.

    `method`: an attribute path of Client and AsyncClient. `command`: the words after `fmsvc`.
    """

    method: str
    command: str
    tool: str


def _unserved(reason: str) -> Operation:
    return Operation(*[Missing(reason)] * 3)


_BROWSER = _unserved("Part of a sign-in, which `fmsvc login` or a browser does.")
_SAME = _unserved("Another address of an operation that is served.")
_OPERATOR = _unserved("For operators and their monitoring.")
_PLAYER = _unserved("For players: `stream_url` of a track is its address.")
_DATA = _unserved("For analysts' tools, which read the addresses themselves.")
_AUTHORIZATION = _unserved("For authorization servers.")
_LISTENING = _unserved("For pages that show who is listening.")
_WEBHOOK = _unserved("For services that receive webhooks: made once, by one request or on the settings page.")
_FEED = _unserved("For any client of server-sent events or of WebSocket.")

_NO_WRITES = Missing(
    "Assistants like tracks and change access; other changes are made with the command line."
)
_NO_FILES = Missing(
    "Assistants get no files: the prompts `upload_guide` and `download_guide` show the command."
)
_NO_ACCOUNT = Missing("Assistants do not manage sessions, tokens and preferences.")
_NO_PEOPLE = Missing("Assistants get the number of likes, not who gave them.")
_NO_SECOND_TOOL = Missing("Another tool finds the same.")
_NO_SECOND_COMMAND = Missing("Another command shows the same.")
_PROGRAM = Missing("For programs that show several accounts.")
_PAGES = Missing("For pages that embed a player.")
_TYPING = Missing("For search fields, while a query is typed; `search` finds the same.")
_STATE = Missing("A command that cannot be served says so itself.")
_TOOL_STATE = Missing("A tool that cannot be served says so itself.")
_PLAYED = Missing("For players, which report what was heard.")
_COUNTS = Missing("Assistants get totals; series are for programs that draw them.")
_ORDER = Missing("Needs the whole list of tracks: for programs.")

OPERATIONS: Final[dict[str, Operation]] = {
    "add_track": Operation("playlists.add_track", "playlists add-track", _NO_WRITES),
    "album_archive": Operation("albums.archive", "albums download", _NO_FILES),
    "album_by_id": Operation("albums.get", "albums get", "get_album"),
    "albums_of": Operation("albums.list", "albums list", "list_albums"),
    "callback": _BROWSER,
    "change_album": Operation("albums.update", "albums update", _NO_WRITES),
    "change_comment": Operation("comments.update", "comments update", _NO_WRITES),
    "change_playlist": Operation("playlists.update", "playlists update", _NO_WRITES),
    "change_track": Operation("tracks.update", "tracks update", _NO_WRITES),
    "comment_on_track": Operation("comments.add", "comments add", _NO_WRITES),
    "count_series": Operation("discover.series", "discover series", _COUNTS),
    "create_webhook": _WEBHOOK,
    "delete_album": Operation("albums.delete", "albums delete", _NO_WRITES),
    "delete_comment": Operation("comments.delete", "comments delete", _NO_WRITES),
    "delete_playlist": Operation("playlists.delete", "playlists delete", _NO_WRITES),
    "delete_track": Operation("tracks.delete", "tracks delete", _NO_WRITES),
    "delete_webhook": _WEBHOOK,
    "download_file": _SAME,
    "download_file_alias": _SAME,
    "download_track": Operation("tracks.download", "tracks download", _NO_FILES),
    "drop_account": Operation("session.drop_account", _PROGRAM, _NO_ACCOUNT),
    "exchange": _BROWSER,
    "fetch_export": _DATA,
    "follow_changes": _FEED,
    "get_album": Operation("albums.get_by_slug", _NO_SECOND_COMMAND, _NO_SECOND_TOOL),
    "get_artist": Operation("artists.get", "artists get", "get_artist"),
    "get_capabilities": Operation("capabilities", "publishing choices", "publishing_capabilities"),
    "get_oembed": Operation("oembed", _PAGES, _PAGES),
    "get_playlist": Operation("playlists.get", "playlists get", "get_playlist"),
    "get_preferences": Operation("preferences.get", "preferences show", _NO_ACCOUNT),
    "get_publishing_job": Operation("jobs.get", "jobs watch", "publishing_job"),
    "get_track": Operation("tracks.get", "tracks get", "get_track"),
    "get_upload": Operation("tracks.upload_progress", "tracks upload", _NO_FILES),
    "health": _OPERATOR,
    "like_track": Operation("tracks.like", "tracks like", "like_track"),
    "liked_tracks": Operation("artists.likes", "artists likes", _NO_PEOPLE),
    "list_albums": Operation("albums.list", "albums list", "list_albums"),
    "list_developer_tokens": Operation("session.developer_tokens", "tokens list", _NO_ACCOUNT),
    "list_exports": _DATA,
    "list_revisions": Operation("tracks.revisions", "tracks revisions", "list_revisions"),
    "list_tags": Operation("tags.list", "tags list", "list_tags"),
    "list_tracks": Operation("tracks.list", "tracks list", "list_tracks"),
    "list_webhooks": _WEBHOOK,
    "logout": Operation("session.logout", "logout", _NO_ACCOUNT),
    "make_album": Operation("albums.create", "albums create", _NO_WRITES),
    "make_playlist": Operation("playlists.create", "playlists create", _NO_WRITES),
    "me": Operation("me", "me", Missing("The resource `fmsvc://me` tells it.")),
    "measured": _OPERATOR,
    "oauth_client_metadata": _AUTHORIZATION,
    "oauth_client_metadata_alias": _AUTHORIZATION,
    "oauth_keys": _AUTHORIZATION,
    "openapi": _unserved("This table is compared with it."),
    "own_playlists": Operation("playlists.list", "playlists list", "list_playlists"),
    "own_profile": Operation("artists.me", "artists me", _NO_SECOND_TOOL),
    "own_tracks": Operation("tracks.my", "tracks my", "my_tracks"),
    "play_track": Operation("tracks.play", _PLAYED, _PLAYED),
    "playlist_archive": Operation("playlists.archive", "playlists download", _NO_FILES),
    "playlist_by_uri": Operation("playlists.get_by_uri", _NO_SECOND_COMMAND, _NO_SECOND_TOOL),
    "playlists_of": Operation("playlists.by_artist", "playlists by-artist", "playlists_by_artist"),
    "publish_album_anew": Operation("publishing.set_album", "publishing set", _NO_WRITES),
    "publish_anew": Operation("publishing.set", "publishing set", "set_publishing"),
    "publish_track": Operation("tracks.upload", "tracks upload", _NO_FILES),
    "put_cover": Operation("albums.set_cover", "albums update", _NO_WRITES),
    "put_preferences": Operation("preferences.update", "preferences update", _NO_ACCOUNT),
    "put_profile": Operation("artists.update", "artists update", _NO_WRITES),
    "ready": Operation("ready", _STATE, _TOOL_STATE),
    "recommend_tracks": Operation(
        "playlists.recommendations", "playlists recommendations", "playlist_recommendations"
    ),
    "remove_track": Operation("playlists.remove_track", "playlists remove-track", _NO_WRITES),
    "reorder_playlist": Operation("playlists.reorder", _ORDER, _NO_WRITES),
    "replace_audio": Operation("tracks.replace_audio", "tracks replace-audio", _NO_FILES),
    "run_sql": _DATA,
    "restore_revision": Operation("tracks.restore_revision", "tracks restore-revision", _NO_WRITES),
    "resume_webhook": _WEBHOOK,
    "revoke_developer_token": Operation("session.revoke_developer_token", "tokens revoke", _NO_ACCOUNT),
    "rotate_webhook_secret": _WEBHOOK,
    "search": Operation("discover.search", "search", "search"),
    "suggest_names": Operation("discover.suggest", _TYPING, _TYPING),
    "service_document": _unserved("For servers of accounts, which send XRPC queries on."),
    "start": _BROWSER,
    "sql_schema": _DATA,
    "start_add_account": _BROWSER,
    "start_by_link": _BROWSER,
    "start_developer_token": _BROWSER,
    "start_scope_upgrade": _BROWSER,
    "stream_file": _PLAYER,
    "stream_track": _PLAYER,
    "switch_account": Operation("session.switch_account", _PROGRAM, _NO_ACCOUNT),
    "top_tracks": Operation("discover.top_tracks", "top", "top_tracks"),
    "totals": Operation("stats", "stats", "get_stats"),
    "track_by_uri": Operation("tracks.get_by_uri", "tracks get", "get_track"),
    "track_comments": Operation("comments.list", "comments list", "track_comments"),
    "track_likes": Operation("tracks.likers", "tracks likers", _NO_PEOPLE),
    "track_proof": Operation("tracks.proof", "verify", "track_proof"),
    "tracks_by_tag": Operation("tags.tracks", "tags get", "tracks_by_tag"),
    "tracks_liked": Operation("tracks.liked", "tracks liked", "liked_tracks"),
    "unlike_track": Operation("tracks.unlike", "tracks unlike", "like_track"),
    "watch_upload": Operation("tracks.upload", "tracks upload", _NO_FILES),
    "who_is_listening": _LISTENING,
}

# What serves no operation of its own, and what it does instead. `iterate…` stands beside a list's method.
LOCAL_METHODS: Final = {
    "close": "Closes the connections.",
    "jobs.wait": "Asks `jobs.get` until the job is done.",
    "publishing.dry_run": "Compares the settings of a track with those wanted, and with `capabilities`.",
    "publishing.show": "The settings that `tracks.get` answers with.",
    "tracks.id_of": "The id of a ref.",
    "tracks.verify": "Checks a record's proof on the caller's machine.",
}
LOCAL_COMMANDS: Final = {
    "completion": "Prints a script for a shell.",
    "discover search": "Another name of `search`.",
    "discover top": "Another name of `top`.",
    "login": "Signs in with a browser and keeps the session.",
    "mcp": "Serves MCP on standard input and output.",
    "publishing dry-run": "Shows what `publishing set` would do.",
    "publishing show": "Shows the settings that `tracks get` answers with.",
    "tracks upload-files": "Does `tracks upload` for each of several files.",
}
