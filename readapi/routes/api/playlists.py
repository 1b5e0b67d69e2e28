"""Playlists and their tracks: public reads, and writes by their owners."""

from typing import Annotated, Any

import orjson
from aiohttp import web
from pydantic import Field

from readapi.answers import Answer
from readapi.audio.archive import ZIP, Archive
from readapi.audio.select import AudioSelection
from readapi.errors import Conflict, NotFound, NotOwner
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import cursors, present
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.paging import MOST_ROWS
from readapi.index.queries import artists, lists, recommendations, social, tracks
from readapi.index.queries.identifiers import AtUriName, DidName, ListName
from readapi.index.queries.tracks import Adult
from readapi.pds.records import lists as authoring
from readapi.pds.records import playlists
from readapi.pds.repo import REFUSALS
from readapi.pds.writing import Change, Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas.access import Viewer
from schemas.api.playlists import (
    AddedTrack,
    NewPlaylist,
    Order,
    Playlist,
    PlaylistChange,
    PlaylistWithTracks,
    Recommendations,
)
from schemas.api.shape import Deleted
from schemas.ids import AtUri, list_id
from schemas.stored import Card

routes = Routes("playlists")

CHANGES = (NotOwner, Conflict, *REFUSALS)
Some = Annotated[int, Field(ge=1, le=50)]
_ORDER = "playlists"


@routes.get("/lists/playlists")
async def own_playlists(
    index: Index, who: SignedIn, showing: ProfileVisibility, cursor: Cursor = None
) -> Answer[list[Playlist]]:
    """List your own playlists, newest first, up to 1,000 per page.

    The header `Link` has the URL of the next page, with `rel="next"`.
    """
    return await _listed(index, who.did, who.viewer, showing, cursor)


@routes.get("/lists/playlists/by-artist/{did}")
async def playlists_of(
    did: DidName, index: Index, viewer: Viewer | None, showing: ProfileVisibility, cursor: Cursor = None
) -> Answer[list[Playlist]]:
    """List the playlists that an account shows on its profile, newest first.

    A request examines up to 1,000 playlists; if many are hidden, a page may have few or none and still have a
    next page. The header `Link` has its URL, with `rel="next"`.
    """
    return await _listed(index, did, viewer, showing, cursor)


@routes.get("/lists/playlists/by-uri", raises=(NotFound,), prompt=True)
async def playlist_by_uri(
    uri: AtUriName,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    showing: ProfileVisibility,
    adult: Adult = False,
) -> Answer[PlaylistWithTracks]:
    """Get the playlist with an at-uri, and its tracks."""
    return await _playlist_with_tracks(
        index, lists.find_list(index, "playlist", uri), supporters, viewer, showing, adult
    )


@routes.get("/lists/playlists/{playlist_id}", prompt=True)
async def get_playlist(
    playlist_id: ListName,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    showing: ProfileVisibility,
    adult: Adult = False,
) -> Answer[PlaylistWithTracks]:
    """Get a playlist and its tracks."""
    return await _playlist_with_tracks(
        index, lists.find_list(index, "playlist", playlist_id), supporters, viewer, showing, adult
    )


@routes.get("/lists/playlists/{playlist_id}/archive", media_types=(ZIP,), raises=(NotFound,))
async def playlist_archive(
    playlist_id: ListName,
    index: Index,
    sources: AudioSelection,
    viewer: Viewer | None,
    client: Client,
    adult: Adult = False,
) -> web.StreamResponse:
    """Download a playlist as one zip, with the original of each track that the viewer may download.

    A text file in the zip names the visible tracks that are left out, and the reason.
    """
    playlist = lists.find_list(index, "playlist", playlist_id)
    told = orjson.loads(playlist.card)
    owner = told["owner_display_name"] or told["owner_handle"]
    held = lists.playlist_tracks(index, playlist, viewer, adult=adult)
    return Archive(
        held, "discovery", viewer, index, sources, client, owner=owner, title=told["name"], adult=adult
    )


@routes.get("/lists/playlists/{playlist_id}/recommendations", raises=(NotOwner,))
async def recommend_tracks(
    playlist_id: ListName, index: Index, who: SignedIn, supporters: Supporters, limit: Some = 10
) -> Answer[Recommendations]:
    """Recommend tracks for your playlist: by the tags and artists in it, the most popular first."""
    held = lists.playlist_tracks(
        index, lists.find_own_list(index, "playlist", playlist_id, who.did), who.viewer
    )
    found = recommendations.recommend_tracks(index, held, who.viewer, limit) if held else []
    viewer = await supporters.among(who.viewer, found)
    names = [tracks.parse_card(card)["artist"] for card in found]
    listed = present.render_recommended(found, names, viewer, social.liked_keys(index, found, viewer))
    return present.make_answer(present.render_object(tracks=listed, available=b"true" if held else b"false"))


@routes.post("/lists/playlists", requires=("list",), raises=REFUSALS)
async def make_playlist(
    sent: NewPlaylist, index: Index, who: SignedIn, showing: ProfileVisibility, writing: Writing
) -> Answer[Playlist]:
    """Create an empty playlist. Your profile shows it only if `show_on_profile` is true."""
    uri, value = await playlists.create_playlist(writing, showing, who, sent.name, sent.show_on_profile)
    return await _playlist_answer(index, uri, value, who, showing)


@routes.patch("/lists/playlists/{playlist_id}", requires=("list",), raises=CHANGES)
async def change_playlist(
    playlist_id: ListName,
    sent: PlaylistChange,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
) -> Answer[Playlist]:
    """Rename your playlist, or choose whether your profile shows it."""
    uri = lists.list_uri(lists.find_own_list(index, "playlist", playlist_id, who.did))
    record = await writing.edit(
        who, uri.collection, uri.rkey, lambda found: authoring.rename_list(found, sent.name, None)
    )
    if sent.show_on_profile is not None:
        await showing.choose(str(uri), sent.show_on_profile)
    return await _playlist_answer(index, uri, record.value, who, showing)


@routes.delete("/lists/playlists/{playlist_id}", requires=("list",), raises=CHANGES)
async def delete_playlist(
    playlist_id: ListName, index: Index, who: SignedIn, showing: ProfileVisibility, writing: Writing
) -> Deleted:
    """Delete your playlist. Its tracks stay."""
    uri = lists.list_uri(lists.find_own_list(index, "playlist", playlist_id, who.did))
    await playlists.delete_playlist(writing, showing, who, uri)
    return Deleted(deleted=True)


@routes.post("/lists/playlists/{playlist_id}/tracks", requires=("list",), raises=CHANGES)
async def add_track(
    playlist_id: ListName,
    sent: AddedTrack,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
) -> Answer[Playlist]:
    """Append a track to your playlist. A track that is already in it keeps its position."""
    uri = tracks.track_uri(tracks.find_track(index, sent.track_uri, who.viewer))
    return await _edited(
        playlist_id,
        lambda found: authoring.add_track(found, str(uri), sent.track_cid),
        index,
        who,
        showing,
        writing,
    )


@routes.delete("/lists/playlists/{playlist_id}/tracks/{uri:.+}", requires=("list",), raises=CHANGES)
async def remove_track(
    playlist_id: ListName,
    uri: AtUriName,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
) -> Answer[Playlist]:
    """Remove a track from your playlist."""
    return await _edited(
        playlist_id, lambda found: authoring.remove_track(found, uri), index, who, showing, writing
    )


@routes.put("/lists/playlists/{playlist_id}/reorder", requires=("list",), raises=CHANGES)
async def reorder_playlist(
    playlist_id: ListName,
    sent: Order,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
) -> Answer[Playlist]:
    """Change the order of the tracks in your playlist."""
    return await _edited(
        playlist_id,
        lambda found: authoring.reorder_items(found, [place.uri for place in sent.items]),
        index,
        who,
        showing,
        writing,
    )


async def _edited(
    name: str, change: Change, index: Index, who: SignedIn, showing: ProfileVisibility, writing: Writing
) -> Answer[Playlist]:
    uri = lists.list_uri(lists.find_own_list(index, "playlist", name, who.did))
    record = await writing.edit(who, uri.collection, uri.rkey, change)
    return await _playlist_answer(index, uri, record.value, who, showing)


async def _listed(
    index: Index, did: str, viewer: Viewer | None, showing: ProfileVisibility, cursor: str | None
) -> Answer[list[Playlist]]:
    page = await lists.playlists_of(
        index, showing, did, viewer, cursors.read_position(cursor, _ORDER), MOST_ROWS
    )
    following = cursors.write_cursor(page.after, _ORDER)
    headers = {} if following is None else {"Link": f'<?cursor={following}>; rel="next"'}
    return Answer(orjson.dumps(page.items), headers=headers)


async def _playlist_with_tracks(
    index: Index,
    card: Card,
    supporters: Supporters,
    viewer: Viewer | None,
    showing: ProfileVisibility,
    adult: bool,
) -> Answer[PlaylistWithTracks]:
    held = lists.playlist_tracks(index, card, viewer, adult=adult)
    viewer = await supporters.among(viewer, held)
    playlist = orjson.loads(card.card)
    chosen = await showing.of(playlist["atproto_record_uri"])
    listed = present.render_tracks(held, viewer, social.liked_keys(index, held, viewer))
    return present.make_answer(
        present.extend_object(orjson.dumps(lists.add_choice(playlist, chosen)), tracks=listed)
    )


async def _playlist_answer(
    index: Index, uri: AtUri, value: dict[str, Any], who: SignedIn, showing: ProfileVisibility
) -> Answer[Playlist]:
    """The account's own playlist from the index, or as it was just written if the index lacks it."""
    card = index.find_list("playlist", str(uri))
    told = orjson.loads(card.card) if card is not None else _as_written(index, uri, value, who)
    return Answer(orjson.dumps(lists.add_choice(told, await showing.of(str(uri)))))


def _as_written(index: Index, uri: AtUri, value: dict[str, Any], who: SignedIn) -> dict[str, Any]:
    return {
        "id": str(list_id(str(uri))),
        "name": value["name"],
        "owner_did": who.did,
        "owner_handle": who.handle,
        "owner_display_name": artists.display_name(index, who.did),
        "track_count": len(value["items"]),
        "image_url": None,
        "show_on_profile": True,
        "atproto_record_uri": str(uri),
        "created_at": value["createdAt"],
        **artists.account_labels(index, who.did),
    }
