"""Feeds and playlist files: of the newest tracks, of an artist, of a tag, of an album and of a playlist.

Each is the same for everybody, and each is there in every form.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from readapi.answers import Answer
from readapi.audio import file_names
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import artists, tags, tracks
from readapi.index.queries.identifiers import ArtistName, ListName
from readapi.pages import text
from readapi.pages.public import content, feed, feed_items, playlist_files
from readapi.pages.public.feed_items import Channel, Item
from readapi.pages.public.metadata import SITE_NAME
from readapi.pages.urls import Addresses, album_feed, artist_feed, playlist_feed, tag_feed
from readapi.state.state import State
from schemas.api.artists import Artist
from schemas.api.tracks import Track

routes = Routes("pages")

MOST_TRACKS = 50  # of those that grow for ever

Form = Literal["xml", "json", "m3u8", "xspf", "jspf"]
Render = Callable[[Channel, list[Item], Addresses], bytes]

_FORMS: Mapping[Form, tuple[str, Render]] = {
    "xml": (feed.RSS, feed.render_rss),
    "json": (feed.JSON_FEED, feed.render_json_feed),
    "m3u8": (playlist_files.M3U8, playlist_files.render_m3u8),
    "xspf": (playlist_files.XSPF, playlist_files.render_xspf),
    "jspf": (playlist_files.JSPF, playlist_files.render_jspf),
}
_FILES = ("m3u8", "xspf", "jspf")
_TYPES = tuple(media_type.partition(";")[0] for media_type, _ in _FORMS.values())
_FORM = "{form:xml|json|m3u8|xspf|jspf}"


@routes.get(f"/feeds/new.{_FORM}", media_types=_TYPES, described=False)
async def feed_of_new_tracks(
    form: Form, index: Index, supporters: Supporters, addresses: Addresses, state: State
) -> Answer[str]:
    """List the newest tracks."""
    channel = Channel(
        f"New on {SITE_NAME}",
        "The newest audio records on the AT Protocol network.",
        "/feeds/new",
        addresses.page("/new"),
        SITE_NAME,
        language="en",
    )
    return await _feed(channel, await _newest(index, supporters), form, addresses, state)


@routes.get(
    f"/feeds/artist/{{handle:[^/]+}}.{_FORM}", media_types=_TYPES, described=False, raises=(NotFound,)
)
async def feed_of_artist(
    handle: ArtistName, form: Form, index: Index, supporters: Supporters, addresses: Addresses, state: State
) -> Answer[str]:
    """List an artist's newest tracks."""
    card = artists.find_artist(index, handle)
    artist = Artist.model_validate_json(card.card)
    name = text.one_line(artist.display_name or artist.handle)
    channel = Channel(
        name,
        text.drop_unprintable(artist.bio or f"Tracks by {name}"),
        artist_feed(artist.handle, artist.did),
        addresses.artist(artist.handle, artist.did),
        name,
        _picture(artist.avatar_url),
    )
    return await _feed(
        channel, await _newest(index, supporters, artist_did=artist.did), form, addresses, state
    )


@routes.get(f"/feeds/tag/{{name:.+}}.{_FORM}", media_types=_TYPES, described=False, raises=(NotFound,))
async def feed_of_tag(
    name: str, form: Form, index: Index, supporters: Supporters, addresses: Addresses, state: State
) -> Answer[str]:
    """List the newest tracks with a tag."""
    tag = tags.find_tag(index, name).name
    title = text.one_line(tag)
    channel = Channel(
        f"#{title}",
        f"The newest tracks tagged {title}.",
        tag_feed(tag),
        addresses.tag(tag),
        SITE_NAME,
        language="en",
    )
    return await _feed(channel, await _newest(index, supporters, wanted=(tag,)), form, addresses, state)


@routes.get(
    f"/feeds/album/{{handle:[^/]+}}/{{slug:[^/]+}}.{_FORM}",
    media_types=_TYPES,
    described=False,
    raises=(NotFound,),
)
async def feed_of_album(
    handle: ArtistName,
    slug: str,
    form: Form,
    index: Index,
    supporters: Supporters,
    addresses: Addresses,
    state: State,
) -> Answer[str]:
    """List an album's public tracks in their order."""
    album, held, *_ = await content.album_content(index, supporters, None, handle, slug)
    whose = album.artist_handle, album.artist_did, album.slug
    artist = text.one_line(album.artist)
    channel = Channel(
        text.one_line(album.title),
        text.drop_unprintable(album.description or f"An album by {artist}"),
        album_feed(*whose),
        addresses.album(*whose),
        artist,
        _picture(album.image_url),
    )
    return await _feed(channel, held, form, addresses, state)


@routes.get(
    f"/feeds/playlist/{{playlist_id:[^/]+}}.{_FORM}", media_types=_TYPES, described=False, raises=(NotFound,)
)
async def feed_of_playlist(
    playlist_id: ListName,
    form: Form,
    index: Index,
    supporters: Supporters,
    addresses: Addresses,
    state: State,
) -> Answer[str]:
    """List a playlist's public tracks in their order."""
    playlist, held, *_ = await content.playlist_content(index, supporters, None, playlist_id)
    owner = text.one_line(playlist.owner_display_name or playlist.owner_handle)
    channel = Channel(
        text.one_line(playlist.name),
        f"A playlist by {owner}",
        playlist_feed(playlist.id),
        addresses.playlist(playlist.id),
        owner,
        _picture(playlist.image_url),
    )
    return await _feed(channel, held, form, addresses, state)


async def _newest(
    index: Index, supporters: Supporters, *, artist_did: str | None = None, wanted: Sequence[str] = ()
) -> list[Track]:
    cards = tracks.find_track_page(index, "recent", None, MOST_TRACKS, artist_did, wanted, None).items
    return await content.load_tracks(supporters, cards, None)


async def _feed(
    channel: Channel, held: Sequence[Track], form: Form, addresses: Addresses, state: State
) -> Answer[str]:
    sizes = await state.managed_audio.sizes([track.uri for track in held])
    media_type, render = _FORMS[form]
    name = f"{file_names.safe_file_name(channel.title)}.{form}"
    headers = {"Content-Disposition": file_names.attachment_header(name)} if form in _FILES else {}
    body = render(channel, feed_items.read_items(held, addresses, sizes), addresses)
    return Answer(body, media_type, headers=headers)


def _picture(url: str | None) -> str | None:
    return text.drop_unprintable(url) if url is not None and text.is_web_address(url) else None
