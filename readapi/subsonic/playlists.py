"""Methods on playlists: each can be read, the account's own changed."""

from collections.abc import Iterable
from typing import Annotated, Any

import orjson
from pydantic import Field

from readapi.errors import InvalidRequest, NotOwner
from readapi.http.request.validation import REQUIRED
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import lists, tracks
from readapi.pds.records import lists as editing
from readapi.pds.records import playlists
from readapi.pds.repo import Value
from readapi.pds.writing import Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.subsonic import ids, items
from readapi.subsonic.browsing import MOST
from readapi.subsonic.items import Item
from readapi.subsonic.rendering import Content
from readapi.subsonic.songs import Songs
from schemas.api.playlists import ListTitle
from schemas.ids import AtUri, list_id
from schemas.records import MAX_ITEMS
from schemas.stored import Card

Names = Annotated[list[str], Field(max_length=MAX_ITEMS)]
Places = Annotated[list[int], Field(max_length=MAX_ITEMS)]
Comment = Annotated[str, Field(max_length=3000)]
_NONE: tuple[str, ...] = ()


async def get_playlists(
    index: Index, who: SignedIn, showing: ProfileVisibility, username: str | None = None
) -> Content:
    """The account's own playlists, the newest first."""
    if username not in (None, who.did, who.handle):
        raise NotOwner("Only your own playlists are listed.")
    page = await lists.playlists_of(index, showing, who.did, who.viewer, None, MOST)
    return {"playlists": {"playlist": list(map(items.describe_playlist, page.items[:MOST]))}}


async def get_playlist(
    id: str, index: Index, songs: Songs, who: SignedIn, showing: ProfileVisibility
) -> Content:
    """A playlist and its songs."""
    card = lists.find_list(index, "playlist", ids.read_name(id, ids.PLAYLIST))
    return {"playlist": await _with_songs(card, index, songs, who, showing)}


async def create_playlist(
    index: Index,
    songs: Songs,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
    playlist_id: str | None = None,
    name: ListTitle | None = None,
    song_id: Names = _NONE,  # type: ignore[assignment]
) -> Content:
    """Make a playlist, which the profile does not show; or with its id, put other songs into one."""
    held = _subjects(index, who, song_id)
    if playlist_id is not None:
        uri = _own(index, who, playlist_id)
        named = None if name is None else name

        def change(found: Value) -> Value:
            return editing.rename_list(editing.replace_items(found, held), named, None)

        written = await writing.edit(who, uri.collection, uri.rkey, change)
        value = written.value
    elif name is None:
        raise InvalidRequest.of_field("name", REQUIRED)
    else:
        uri, value = await playlists.create_playlist(writing, showing, who, name, False, held)
    card = index.find_list("playlist", str(uri))
    if card is not None:
        return {"playlist": await _with_songs(card, index, songs, who, showing)}
    return {"playlist": await _as_written(uri, value, index, songs, who)}


async def update_playlist(
    playlist_id: str,
    index: Index,
    who: SignedIn,
    showing: ProfileVisibility,
    writing: Writing,
    name: ListTitle | None = None,
    comment: Comment | None = None,
    public: bool | None = None,
    song_id_to_add: Names = _NONE,  # type: ignore[assignment]
    song_index_to_remove: Places = (),  # type: ignore[assignment]
) -> Content:
    """Rename a playlist, add and remove songs, choose whether the profile shows it.

    Songs are removed by their places in the playlist as it is shown, before others are added.
    """
    uri = _own(index, who, playlist_id)
    card = lists.find_list(index, "playlist", ids.read_name(playlist_id, ids.PLAYLIST))
    shown = [str(tracks.track_uri(track)) for track in lists.playlist_tracks(index, card, who.viewer)]
    added = _subjects(index, who, song_id_to_add)

    def change(found: Value) -> Value:
        if song_index_to_remove:
            found = editing.remove_places(found, shown, frozenset(song_index_to_remove))
        for subject in added:
            found = editing.add_track(found, subject["uri"], subject["cid"])
        return found if name is None and comment is None else editing.rename_list(found, name, comment)

    await writing.edit(who, uri.collection, uri.rkey, change)
    if public is not None:
        await showing.choose(str(uri), public)
    return {}


async def delete_playlist(
    id: str, index: Index, who: SignedIn, showing: ProfileVisibility, writing: Writing
) -> Content:
    """Delete a playlist. Its songs stay."""
    await playlists.delete_playlist(writing, showing, who, _own(index, who, id))
    return {}


def _own(index: Index, who: SignedIn, id: str) -> AtUri:
    return lists.list_uri(lists.find_own_list(index, "playlist", ids.read_name(id, ids.PLAYLIST), who.did))


def _subjects(index: Index, who: SignedIn, names: Iterable[str]) -> list[dict[str, str]]:
    """Strong references to songs. Raises NotFound unless the account may see all of them."""
    found = (tracks.find_track(index, ids.read_name(name, ids.TRACK), who.viewer) for name in names)
    return [tracks.strong_ref(card) for card in found]


async def _with_songs(
    card: Card, index: Index, songs: Songs, who: SignedIn, showing: ProfileVisibility
) -> Item:
    held = await songs.describe(lists.playlist_tracks(index, card, who.viewer), who.viewer)
    known = orjson.loads(card.card)
    placed = lists.add_choice(known, await showing.of(known["atproto_record_uri"]))
    shown = items.describe_playlist(placed, items.sum_seconds(held))
    return {**shown, "songCount": len(held), "entry": held}


async def _as_written(uri: AtUri, value: dict[str, Any], index: Index, songs: Songs, who: SignedIn) -> Item:
    """A playlist that the index does not show yet."""
    uris = (item["subject"]["uri"] for item in value["items"])
    cards = [card for track in uris if (card := index.track_at(track)) is not None]
    held = await songs.describe(tracks.filter_visible(cards, who.viewer, "discovery"), who.viewer)
    known = {
        "id": str(list_id(str(uri))),
        "name": value["name"],
        "owner_handle": who.handle,
        "show_on_profile": False,
        "track_count": len(held),
        "created_at": value["createdAt"],
    }
    return {**items.describe_playlist(known, items.sum_seconds(held)), "entry": held}
