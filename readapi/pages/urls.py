"""URLs of pages: builds them, and parses them as oEmbed consumers send them."""

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from readapi.pages import return_address
from schemas.api.tracks import Track
from schemas.ids import INVALID_HANDLE, checked_id
from schemas.pictures import Side

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class TrackAddress:
    """A track by its id, with or without its check, or its at-uri."""

    name: str


@dataclass(frozen=True, slots=True)
class ArtistAddress:
    """An artist by handle or DID."""

    name: str


@dataclass(frozen=True, slots=True)
class AlbumAddress:
    """An album by its artist (handle or DID) and slug."""

    owner: str
    slug: str


@dataclass(frozen=True, slots=True)
class PlaylistPage:
    """A playlist by its id or at-uri."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A track or a list by its at-uri."""

    uri: str


Target = TrackAddress | ArtistAddress | AlbumAddress | PlaylistPage | RecordPage


def _segment(text: str) -> str:
    # Colons are allowed in a path segment, and DIDs are easier to read with them.
    return quote(text, safe=":@")


def _owner(handle: str, did: str) -> str:
    """An account as a path segment: by its handle if that was verified, else by its DID."""
    return _segment(did if handle == INVALID_HANDLE else handle)


def artist_feed(handle: str, did: str) -> str:
    """The path of an artist's feed without its form, which is added as its ending, such as `.xml`."""
    return f"/feeds/artist/{_owner(handle, did)}"


def tag_feed(name: str) -> str:
    """The path of a tag's feed, likewise without its form."""
    return f"/feeds/tag/{_segment(name)}"


def album_feed(handle: str, did: str, slug: str) -> str:
    """The path of an album's feed, likewise without its form."""
    return f"/feeds/album/{_owner(handle, did)}/{_segment(slug)}"


def playlist_feed(playlist_id: str) -> str:
    """The path of a playlist's feed, likewise without its form."""
    return f"/feeds/playlist/{playlist_id}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Absolute addresses of one service. `web_url` is a second origin that has the same paths."""

    base_url: str
    web_url: str | None = None

    def track(self, uri: str) -> str:
        return f"{self.base_url}/track/{checked_id(uri)}"

    def artist(self, handle: str, did: str) -> str:
        return f"{self.base_url}/u/{_owner(handle, did)}"

    def album(self, handle: str, did: str, slug: str) -> str:
        return f"{self.artist(handle, did)}/album/{_segment(slug)}"

    def playlist(self, playlist_id: str) -> str:
        return f"{self.base_url}/playlist/{playlist_id}"

    def artist_of(self, track: Track) -> str:
        return self.artist(track.artist_handle, track.artist_did)

    def album_of(self, track: Track) -> str | None:
        return self.album(track.artist_handle, track.artist_did, track.album.slug) if track.album else None

    def tag(self, name: str) -> str:
        return f"{self.base_url}/tag/{_segment(name)}"

    def picture(self, cid: str, side: Side) -> str:
        """A picture whose longest side has so many pixels at most."""
        return f"{self.base_url}/img/{cid}/{side}.webp"

    def drawn_picture(self, page: str) -> str:
        """The picture of a page that has none: drawn, the same each time, from its address."""
        return f"{self.base_url}/preview/{sha256(page.encode()).hexdigest()[:32]}.png"

    def page(self, path: str, **query: str | None) -> str:
        """A page that is about no record; parameters that are None are left out."""
        given = query and {name: value for name, value in query.items() if value is not None}
        return f"{self.base_url}{path}?{urlencode(given)}" if given else f"{self.base_url}{path}"

    def play(self, track_id: int) -> str:
        return f"{self.base_url}/tracks/{track_id}/play"

    def track_player(self, uri: str) -> str:
        return self.player_of(checked_id(uri))

    def player_of(self, checked: str) -> str:
        """The player of the track with this `checked_id`."""
        return f"{self.base_url}/embed/track/{checked}"

    def artist_player(self, handle: str, did: str) -> str:
        return f"{self.base_url}/embed/artist/{_owner(handle, did)}"

    def album_player(self, handle: str, did: str, slug: str) -> str:
        return f"{self.base_url}/embed/album/{_owner(handle, did)}/{_segment(slug)}"

    def playlist_player(self, playlist_id: str) -> str:
        return f"{self.base_url}/embed/playlist/{playlist_id}"

    def sign_in(self, page: str) -> str:
        """Where to sign in, and then come back to one of these pages."""
        return f"{self.base_url}/login?{return_address.return_query(page.removeprefix(self.base_url))}"

    def oembed(self, page: str, form: str) -> str:
        return f"{self.base_url}/oembed?{urlencode({'url': page, 'format': form})}"

    def read(self, url: str) -> Target | None:
        """The target of a URL of ours or an AT URI; None if it is not ours or cannot be embedded.

        It need not exist.
        """
        url = url.strip()
        if "://" not in url:
            url = unquote(url)  # encoded once more than it should be
        if url.startswith("at://"):
            return RecordPage(unquote(re.split("[?#]", url, maxsplit=1)[0]).rstrip("/"))
        path = self._path(url)
        if path is None:
            return None
        segments = [unquote(segment) for segment in path.split("/") if segment]
        return _page(segments[1:] if segments[:1] == ["embed"] else segments)

    def _path(self, url: str) -> str | None:
        """The path of a URL of ours; None of another's."""
        if url.startswith(f"{self.base_url}/") and url.isprintable():  # as we write them: most are
            return url[len(self.base_url) :].partition("#")[0].partition("?")[0]
        try:
            parts = urlsplit(url)
            ours = parts.username is None and _host(parts) in _hosts(self)
        except ValueError:
            return None
        return parts.path if ours else None


@lru_cache(maxsize=8)
def _hosts(of: Addresses) -> frozenset[tuple[str, int | None]]:
    return frozenset(_host(urlsplit(url)) for url in (of.base_url, of.web_url) if url)


def _host(parts: SplitResult) -> tuple[str, int | None]:
    """A host and its port, if it is not the usual one: people write http where they were given https."""
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("not a web address")
    return parts.hostname.rstrip("."), None if parts.port == _DEFAULT_PORTS[parts.scheme] else parts.port


def _page(segments: list[str]) -> Target | None:
    match segments:
        case ["track", name]:
            return TrackAddress(name)
        case ["u", owner, "album", slug] | ["album", owner, slug]:
            return AlbumAddress(owner, slug)
        case ["u", owner] | ["artist", owner]:
            return ArtistAddress(owner)
        case ["playlist", name]:
            return PlaylistPage(name)
        case _:
            return None
