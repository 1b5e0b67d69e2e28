"""Feeds of the newest tracks: of all, of an artist, of a tag. Each is the same for everybody."""

from collections.abc import Sequence

from readapi.answers import Answer
from readapi.errors import NotFound
from readapi.http.endpoint import Routes
from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.queries import artists, tags, tracks
from readapi.index.queries.identifiers import ArtistName
from readapi.pages import text
from readapi.pages.public import content, feed
from readapi.pages.public.feed import JSON_FEED, MOST_TRACKS, RSS, Channel, Form
from readapi.pages.public.metadata import SITE_NAME
from readapi.pages.urls import Addresses, artist_feed, tag_feed
from schemas.api.artists import Artist

routes = Routes("pages")

_TYPES = ("application/rss+xml", JSON_FEED)


@routes.get("/feeds/new.{form:xml|json}", media_types=_TYPES, described=False)
async def feed_of_new_tracks(
    form: Form, index: Index, supporters: Supporters, addresses: Addresses
) -> Answer[str]:
    """List the newest tracks."""
    channel = Channel(
        f"New on {SITE_NAME}",
        "The newest audio records on the AT Protocol network.",
        "/feeds/new",
        addresses.page("/new"),
    )
    return await _feed(channel, form, index, supporters, addresses)


@routes.get(
    "/feeds/artist/{handle:[^/]+}.{form:xml|json}", media_types=_TYPES, described=False, raises=(NotFound,)
)
async def feed_of_artist(
    handle: ArtistName, form: Form, index: Index, supporters: Supporters, addresses: Addresses
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
        artist.avatar_url if text.is_web_address(artist.avatar_url) else None,
    )
    return await _feed(channel, form, index, supporters, addresses, artist_did=artist.did)


@routes.get("/feeds/tag/{name:.+}.{form:xml|json}", media_types=_TYPES, described=False, raises=(NotFound,))
async def feed_of_tag(
    name: str, form: Form, index: Index, supporters: Supporters, addresses: Addresses
) -> Answer[str]:
    """List the newest tracks with a tag."""
    tag = tags.find_tag(index, name).name
    channel = Channel(f"#{tag}", f"The newest tracks tagged {tag}.", tag_feed(tag), addresses.tag(tag))
    return await _feed(channel, form, index, supporters, addresses, wanted=(tag,))


async def _feed(
    channel: Channel,
    form: Form,
    index: Index,
    supporters: Supporters,
    addresses: Addresses,
    *,
    artist_did: str | None = None,
    wanted: Sequence[str] = (),
) -> Answer[str]:
    cards = tracks.find_track_page(index, "recent", None, MOST_TRACKS, artist_did, wanted, None).items
    items = feed.read_items(await content.load_tracks(supporters, cards, None), addresses)
    return Answer(feed.render_feed(channel, items, form, addresses), RSS if form == "xml" else JSON_FEED)
