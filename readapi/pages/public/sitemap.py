"""Site maps (https://www.sitemaps.org/protocol.html) and robots.txt (RFC 9309)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from xml.sax.saxutils import escape

from readapi.index.queries.sitemap import AlbumPlace, ArtistPlace, Kind, PlaylistPlace, TrackPlace
from readapi.pages import text
from readapi.pages.urls import Addresses
from schemas.ids import INVALID_HANDLE, list_id
from schemas.slugs import slug

_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_PAGES = ("/", "/top", "/new", "/tags", "/about")  # that are about no record
# Pages of accounts, sign-in, and JSON. Feeds lead to the audio; players may be fetched for previews.
_ACCOUNTS = ("/portal", "/settings", "/login", "/auth/", "/liked", "/playlists", "/report", "/admin")
_CLOSED = (*_ACCOUNTS, "/mcp", "/tracks/")
_OPEN = ("/tracks/*/stream",)

Entry = tuple[str, datetime | None]  # an address, and when what is there changed last


def render_robots(addresses: Addresses) -> bytes:
    """Which addresses programs should leave alone, and where the site map is."""
    rules = "".join([f"Disallow: {path}\n" for path in _CLOSED] + [f"Allow: {path}\n" for path in _OPEN])
    return f"User-agent: *\n{rules}Sitemap: {addresses.page('/sitemap.xml')}\n".encode()


def render_index(parts: Mapping[Kind, int], addresses: Addresses) -> bytes:
    """The site map that lists the others."""
    paths = chain(
        ["/sitemaps/pages.xml"],
        (f"/sitemaps/{kind}/{part}.xml" for kind, count in parts.items() for part in range(count)),
    )
    return _render("sitemapindex", "sitemap", ((addresses.page(path), None) for path in paths))


def render_pages(addresses: Addresses) -> bytes:
    """The pages that are about no record."""
    return _render("urlset", "url", ((addresses.page(path), None) for path in _PAGES))


def render_tracks(found: Iterable[TrackPlace], addresses: Addresses) -> bytes:
    """Pages of tracks."""
    return _render("urlset", "url", ((addresses.track(track.uri), track.changed) for track in found))


def render_artists(found: Iterable[ArtistPlace], addresses: Addresses) -> bytes:
    """Pages of artists."""
    return _render(
        "urlset",
        "url",
        ((addresses.artist(artist.handle or INVALID_HANDLE, artist.did), artist.changed) for artist in found),
    )


def render_albums(found: Iterable[AlbumPlace], addresses: Addresses) -> bytes:
    """Pages of albums. Of an artist's albums with one slug the first has it, and is listed."""
    entries: dict[str, datetime] = {}
    for album in found:
        address = addresses.album(album.handle or INVALID_HANDLE, album.did, slug((album.name or "").strip()))
        entries.setdefault(address, album.changed)
    return _render("urlset", "url", entries.items())


def render_playlists(found: Iterable[PlaylistPlace], addresses: Addresses) -> bytes:
    """Pages of playlists that profiles show."""
    entries = ((addresses.playlist(str(list_id(one.uri))), one.changed) for one in found)
    return _render("urlset", "url", entries)


def _render(outer: str, inner: str, entries: Iterable[Entry]) -> bytes:
    body = "".join(
        f"<{inner}><loc>{escape(text.drop_unprintable(address))}</loc>{_changed(changed)}</{inner}>\n"
        for address, changed in entries
    )
    return f'{_HEAD}<{outer} xmlns="{_NAMESPACE}">\n{body}</{outer}>\n'.encode()


def _changed(instant: datetime | None) -> str:
    return "" if instant is None else f"<lastmod>{instant:%Y-%m-%d}</lastmod>"
