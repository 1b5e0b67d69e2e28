"""Albums and their tracks: public reads, and writes by their artists."""

from typing import Any

import orjson
from aiohttp import web

from readapi.answers import Answer
from readapi.audio.archive import ZIP, Archive
from readapi.audio.select import AudioSelection
from readapi.errors import AudienceUnavailable, Conflict, NotFound, NotOwner, PrivateAlbum, TooLarge
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import cursors, present
from readapi.index.cursors import Cursor, Limit
from readapi.index.lookups import Index
from readapi.index.paging import Page
from readapi.index.queries import artists, lists, social
from readapi.index.queries.identifiers import ArtistName, ListName
from readapi.index.queries.tracks import Adult
from readapi.pds.records import albums as authoring
from readapi.pds.repo import REFUSALS, Pds
from readapi.pds.writing import Writing
from readapi.publishing.access.policies import Policies
from readapi.state.state import State
from schemas.access import Viewer
from schemas.api.albums import Album, AlbumChange, AlbumMetadata, AlbumPage, Cover, NewAlbum
from schemas.api.shape import Deleted
from schemas.ids import AtUri, list_id
from schemas.publishing import Template
from schemas.slugs import slug as slug_of
from schemas.stored import Card

routes = Routes("albums")

CHANGES = (NotOwner, Conflict, PrivateAlbum, *REFUSALS)


@routes.get("/albums/")
def list_albums(
    index: Index, limit: Limit = 50, cursor: Cursor = None, adult: Adult = False
) -> Answer[AlbumPage]:
    """List all albums, newest first."""
    return _page(index.list_page("album", cursors.read_position(cursor, "albums"), limit, adult=adult))


@routes.post("/albums/", requires=("list",), raises=(AudienceUnavailable, *CHANGES))
async def make_album(
    sent: NewAlbum, index: Index, who: SignedIn, state: State, policies: Policies, writing: Writing
) -> Answer[AlbumMetadata]:
    """Create an empty album. Its slug is derived from its title."""
    await policies.check_album(who, sent.publishing_defaults)
    return await _album_answer(
        index, *await authoring.make_album(writing, state, index, who, sent), who, state
    )


@routes.get("/albums/{album_or_artist}")
def albums_of(
    album_or_artist: ArtistName,
    index: Index,
    limit: Limit = 50,
    cursor: Cursor = None,
    adult: Adult = False,
) -> Answer[AlbumPage]:
    """List an artist's albums, newest first."""
    artist = artists.find_artist(index, album_or_artist)
    after = cursors.read_position(cursor, "albums")
    return _page(index.list_page("album", after, limit, artist_did=artist.did, adult=adult))


@routes.patch("/albums/{album_or_artist}", requires=("list",), raises=(AudienceUnavailable, *CHANGES))
async def change_album(
    album_or_artist: ListName,
    sent: AlbumChange,
    index: Index,
    who: SignedIn,
    state: State,
    policies: Policies,
    writing: Writing,
) -> Answer[AlbumMetadata]:
    """Change your album's title, description or template. The template applies to tracks published later."""
    album = lists.find_own_list(index, "album", album_or_artist, who.did)
    await policies.check_album(who, sent.publishing_defaults)
    written = await authoring.change_album(writing, state, index, who, album, sent)
    return await _album_answer(index, *written, who, state)


@routes.delete("/albums/{album_or_artist}", requires=("list",), raises=CHANGES)
async def delete_album(
    album_or_artist: ListName, index: Index, who: SignedIn, state: State, writing: Writing
) -> Deleted:
    """Delete your album. Its tracks stay."""
    await authoring.delete_album(
        writing, state, who, lists.find_own_list(index, "album", album_or_artist, who.did)
    )
    return Deleted(deleted=True)


# Before the parts of albums, because an album may be called "Cover": no id of an album is a handle or a DID.
@routes.get("/albums/{handle:did:[^/]+|[^/:]+[.][^/:]+}/{slug}")
async def get_album(
    handle: ArtistName,
    slug: str,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    state: State,
    adult: Adult = False,
) -> Answer[Album]:
    """Get an album and its tracks by the artist and the slug."""
    album = lists.find_album(index, handle, slug)
    return await _album_with_tracks(index, album, supporters, viewer, state, adult)


@routes.post("/albums/{album_id}/cover", requires=("list", "blobs"), raises=(TooLarge, *CHANGES))
async def put_cover(
    album_id: ListName,
    sent: Cover,
    index: Index,
    who: SignedIn,
    state: State,
    pds: Pds,
    writing: Writing,
) -> Answer[AlbumMetadata]:
    """Set your album's cover: a PNG, JPEG, WebP or GIF, sent as multipart/form-data."""
    album = lists.find_own_list(index, "album", album_id, who.did)
    written = await authoring.set_cover(writing, pds, who, album, sent.image)
    return await _album_answer(index, *written, who, state)


@routes.get("/albums/by-id/{album_id}")
async def album_by_id(
    album_id: ListName,
    index: Index,
    supporters: Supporters,
    viewer: Viewer | None,
    state: State,
    adult: Adult = False,
) -> Answer[Album]:
    """Get an album and its tracks."""
    return await _album_with_tracks(
        index, lists.find_list(index, "album", album_id), supporters, viewer, state, adult
    )


@routes.get("/albums/{album_id}/archive", media_types=(ZIP,), raises=(NotFound,))
async def album_archive(
    album_id: ListName,
    index: Index,
    sources: AudioSelection,
    viewer: Viewer | None,
    client: Client,
    adult: Adult = False,
) -> web.StreamResponse:
    """Download an album as one zip, with the original of each track that the viewer may download.

    A text file in the zip names the visible tracks that are left out, and the reason.
    """
    album = lists.find_list(index, "album", album_id)
    told = orjson.loads(album.card)
    held = lists.album_tracks(index, album, viewer, adult=adult)
    owner, title = told["artist"], told["title"]
    return Archive(held, "profile", viewer, index, sources, client, owner=owner, title=title, adult=adult)


def _page(page: Page[Card]) -> Answer[AlbumPage]:
    following = present.rest_members(cursors.write_cursor(page.after, "albums"))
    return present.make_answer(
        present.render_object(albums=present.render_array(map(lists.album_summary, page.items)), **following)
    )


async def _album_with_tracks(
    index: Index, album: Card, supporters: Supporters, viewer: Viewer | None, state: State, adult: bool
) -> Answer[Album]:
    held = lists.album_tracks(index, album, viewer, adult=adult)
    viewer = await supporters.among(viewer, held)
    metadata: bytes = album.card
    if viewer is not None and viewer.did == album.did:
        metadata = _with_template(metadata, await state.album_templates.get(lists.list_uri(album)))
    listed = present.render_tracks(held, viewer, social.liked_keys(index, held, viewer))
    return present.make_answer(present.render_object(metadata=metadata, tracks=listed))


async def _album_answer(
    index: Index, uri: AtUri, value: dict[str, Any], who: SignedIn, state: State
) -> Answer[AlbumMetadata]:
    """The account's own album from the index, or as it was just written if the index lacks it."""
    card = index.find_list("album", str(uri))
    metadata = card.card if card is not None else orjson.dumps(_as_written(index, uri, value, who))
    return Answer(_with_template(metadata, await state.album_templates.get(uri)))


def _with_template(metadata: bytes, template: Template | None) -> bytes:
    """The album with its template, which only its artist sees."""
    told = b"null" if template is None else template.model_dump_json().encode()
    return present.join_parts(present.extend_object(metadata, publishing_defaults=told))


def _as_written(index: Index, uri: AtUri, value: dict[str, Any], who: SignedIn) -> dict[str, Any]:
    return {
        "id": str(list_id(str(uri))),
        "uri": str(uri),
        "title": value["name"],
        "slug": slug_of(value["name"]),
        "description": value.get("description"),
        "artist": artists.display_name(index, who.did) or who.handle,
        "artist_handle": who.handle,
        "artist_did": who.did,
        "track_count": len(value["items"]),
        "total_plays": 0,
        "image_url": None,
        "created_at": value["createdAt"],
        **artists.account_labels(index, who.did),
    }
