"""Tools that read: tracks, search, tags, playlists, albums, comments, proofs, totals, the caller's library.

Names and arguments of the first thirteen are those of plyrfm-mcp, so that prompts written for it keep
working.
"""

from typing import Annotated, Literal

from pydantic import Field

from fmsvc.mcp import shapes
from fmsvc.mcp.caller import Value, caller

Limit = Annotated[int, Field(ge=1, le=100)]
Cursor = Annotated[str | None, Field(max_length=2000, description="`next_cursor` of the page before.")]
TrackRef = Annotated[
    Annotated[int, Field(gt=0)]
    | Annotated[str, Field(pattern=r"^at://[^/\s]+/[^/\s]+/[^/\s]+$", max_length=2000)],
    Field(description="Numeric id, or at-uri."),
]
ListId = Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$", description="UUID.")]
Account = Annotated[str, Field(min_length=1, max_length=2048, description="DID or handle.")]

Adult = Annotated[bool, Field(description="Also what labels say is for adults; only when the user asks.")]


async def list_tracks(
    limit: Limit = 20,
    cursor: Cursor = None,
    sort: Literal["recent", "popular"] = "recent",
    artist_did: Annotated[str | None, Field(max_length=2048)] = None,
    adult: Adult = False,
) -> shapes.Tracks:
    """List public tracks, newest first or by popularity; of one artist where artist_did is given."""
    asked: dict[str, Value] = {
        "limit": limit,
        "cursor": cursor,
        "sort": sort,
        "artist_did": artist_did,
        "adult": adult or None,
    }
    return await caller().get(shapes.Tracks, "tracks", "", **asked)


async def get_track(track_id: TrackRef) -> shapes.TrackDetail:
    """Read one track by id or at-uri: metadata, who may hear and download it, the address of its audio.

    Share page_url with people. This plays nothing.
    """
    return await caller().get(shapes.TrackDetail, "tracks", track_id)


async def search(
    query: Annotated[str, Field(min_length=2, max_length=100)],
    type: Annotated[
        str | None,
        Field(max_length=60, description="Of tracks,artists,albums,playlists,tags; comma-separated."),
    ] = None,
    limit: Annotated[int, Field(ge=1, le=50, description="The most of each kind.")] = 20,
    cursor: Cursor = None,
    adult: Adult = False,
) -> shapes.SearchResults:
    """Find tracks, artists, albums, playlists and tags by their words.

    The search is lexical: a title that fits says nothing of how a track sounds. Read a hit with get_track,
    get_album, get_playlist or get_artist. `counts` are true totals.
    """
    asked: dict[str, Value] = {
        "q": query,
        "type": type,
        "limit": limit,
        "cursor": cursor,
        "adult": adult or None,
    }
    return await caller().get(shapes.SearchResults, "search", "", **asked)


async def top_tracks(
    limit: Limit = 10,
    period: Literal["all_time", "month", "week", "day"] = "all_time",
    adult: Adult = False,
) -> shapes.TopTracks:
    """List the tracks that most accounts liked in a period."""
    asked: dict[str, Value] = {"limit": limit, "period": period, "adult": adult or None}
    return await caller().get(shapes.TopTracks, "tracks", "top", **asked)


async def list_tags(
    q: Annotated[str | None, Field(max_length=100, description="How the tag begins.")] = None,
    limit: Limit = 20,
) -> shapes.Tags:
    """List tags with how many tracks carry them, the most used first."""
    return await caller().get(shapes.Tags, "tracks", "tags", q=q, limit=limit)


async def tracks_by_tag(
    tag: Annotated[str, Field(min_length=1, max_length=300)],
    limit: Limit = 50,
    cursor: Cursor = None,
    adult: Adult = False,
) -> shapes.TaggedTracks:
    """List public tracks that carry exactly this tag, newest first."""
    asked: dict[str, Value] = {"limit": limit, "cursor": cursor, "adult": adult or None}
    return await caller().get(shapes.TaggedTracks, "tracks", "tags", tag, **asked)


async def get_playlist(playlist_id: ListId, adult: Adult = False) -> shapes.PlaylistWithTracks:
    """Read a playlist with its tracks, in order."""
    path = ("lists", "playlists", playlist_id)
    return await caller().get(shapes.PlaylistWithTracks, *path, adult=adult or None)


async def playlists_by_artist(
    artist_did: Annotated[str, Field(pattern=r"^did:[a-z]+:[^\s/]+$", max_length=2048)],
) -> shapes.Playlists:
    """List the playlists that an account shows on its profile. A handle's DID is in get_artist."""
    return await caller().get(shapes.Playlists, "lists", "playlists", "by-artist", artist_did)


async def my_tracks(limit: Limit = 20, cursor: Cursor = None) -> shapes.OwnTracks:
    """List the tracks that the caller's own account published, private ones too. Needs a token."""
    caller().need_token()
    return await caller().get(shapes.OwnTracks, "tracks", "me", limit=limit, cursor=cursor)


async def liked_tracks(limit: Limit = 20, cursor: Cursor = None) -> shapes.OwnTracks:
    """List the tracks that the caller likes, newest like first. Needs a token."""
    caller().need_token()
    return await caller().get(shapes.OwnTracks, "tracks", "liked", limit=limit, cursor=cursor)


async def list_revisions(track_id: TrackRef) -> shapes.Revisions:
    """List earlier versions of a track's audio, newest first. Needs the token of its owner."""
    caller().need_token()
    return await caller().get(shapes.Revisions, "tracks", track_id, "revisions")


async def list_playlists() -> shapes.Playlists:
    """List the caller's own playlists. Needs a token."""
    caller().need_token()
    return await caller().get(shapes.Playlists, "lists", "playlists")


async def playlist_recommendations(
    playlist_id: ListId, limit: Annotated[int, Field(ge=1, le=10)] = 3
) -> shapes.Recommendations:
    """List tracks that would go with one of the caller's playlists. Needs the owner's token."""
    caller().need_token()
    return await caller().get(
        shapes.Recommendations, "lists", "playlists", playlist_id, "recommendations", limit=limit
    )


async def list_albums(
    artist: Annotated[str | None, Field(max_length=2048, description="DID or handle.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    adult: Adult = False,
) -> shapes.Albums:
    """List albums, of one artist where one is given."""
    asked: dict[str, Value] = {"limit": limit, "cursor": cursor, "adult": adult or None}
    return await caller().get(shapes.Albums, "albums", artist or "", **asked)


async def get_album(album_id: ListId, adult: Adult = False) -> shapes.AlbumWithTracks:
    """Read an album with its tracks, in order."""
    return await caller().get(shapes.AlbumWithTracks, "albums", "by-id", album_id, adult=adult or None)


async def get_artist(artist: Account) -> shapes.Artist:
    """Read the profile of an account by its DID or handle."""
    return await caller().get(shapes.Artist, "artists", artist)


async def track_comments(track_id: TrackRef, limit: Limit = 50, cursor: Cursor = None) -> shapes.Comments:
    """List the comments of a track by the moment they stand at."""
    return await caller().get(shapes.Comments, "tracks", track_id, "comments", limit=limit, cursor=cursor)


async def track_proof(track_id: TrackRef) -> shapes.Proof:
    """Tell how it is known that the artist published a track, and how to check that oneself."""
    return await caller().get(shapes.Proof, "tracks", track_id, "proof")


async def get_stats() -> shapes.Stats:
    """Tell the totals of the index: tracks, artists, plays, likes and more."""
    return await caller().get(shapes.Stats, "stats")


async def publishing_job(
    job_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")],
) -> shapes.Job:
    """Tell how far one of the caller's changes of access is. Needs a token."""
    caller().need_token()
    return await caller().get(shapes.Job, "tracks", "publishing-jobs", job_id)


async def publishing_capabilities() -> shapes.Capabilities:
    """Tell which audiences the caller may choose for tracks, and why not others. Needs a token."""
    caller().need_token()
    return await caller().get(shapes.Capabilities, "capabilities")


PUBLIC = (
    list_tracks,
    get_track,
    search,
    top_tracks,
    list_tags,
    tracks_by_tag,
    get_playlist,
    playlists_by_artist,
    list_albums,
    get_album,
    get_artist,
    track_comments,
    track_proof,
    get_stats,
)
OF_THE_CALLER = (
    my_tracks,
    liked_tracks,
    list_revisions,
    list_playlists,
    playlist_recommendations,
    publishing_job,
    publishing_capabilities,
)
ALL = (*PUBLIC, *OF_THE_CALLER)
