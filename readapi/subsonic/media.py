"""Methods that answer with bytes: recordings and pictures."""

from http import HTTPStatus

from aiohttp import web

from readapi.audio import file_names
from readapi.audio.select import AudioSelection, Elsewhere
from readapi.audio.sending import Sending
from readapi.audio.source import AudioSource
from readapi.http.request.headers import Conditions
from readapi.http.response import headers
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import artists, tracks
from readapi.subsonic import ids
from readapi.subsonic.covers import Covers
from schemas.pictures import LARGEST
from schemas.settings import Settings
from schemas.stored import Card


async def stream(
    id: str, index: Index, sources: AudioSelection, who: SignedIn, asked: Conditions, settings: Settings
) -> web.StreamResponse:
    """A song's recording as the account may hear it; it is not transcoded. Ranges are supported."""
    card = _find(index, id, who)
    return _answer(card, await sources.heard(card, who.viewer, who.did), asked, settings, {})


async def download(
    id: str, index: Index, sources: AudioSelection, who: SignedIn, asked: Conditions, settings: Settings
) -> web.StreamResponse:
    """The original of a song, if the account may download it."""
    card = _find(index, id, who)
    known = tracks.parse_card(card)
    name = file_names.file_name(known["artist"], known["title"], known["file_type"])
    named = {"Content-Disposition": file_names.attachment_header(name)}
    return _answer(card, await sources.original(card, who.viewer, who.did), asked, settings, named)


async def get_cover_art(
    id: str, who: SignedIn, covers: Covers, asked: Conditions, size: int = LARGEST
) -> web.StreamResponse:
    """A picture as WebP, in the smallest size of at least `size` pixels."""
    return await covers.send(id, size, who.viewer, asked)


async def get_avatar(
    username: str, index: Index, who: SignedIn, covers: Covers, asked: Conditions
) -> web.StreamResponse:
    """An account's picture as WebP."""
    found = ids.ItemId(ids.ARTIST, artists.find_artist(index, username).did)
    return await covers.send(str(found), LARGEST, who.viewer, asked)


def _find(index: Index, id: str, who: SignedIn) -> Card:
    return tracks.find_track(index, ids.read_name(id, ids.TRACK), who.viewer)


def _answer(
    card: Card, opened: AudioSource | Elsewhere, asked: Conditions, settings: Settings, told: dict[str, str]
) -> web.StreamResponse:
    if isinstance(opened, Elsewhere):
        # By way of a public address: programs may tell the next server the address that led to it, whole.
        public = f"{settings.base_url}/tracks/{card.address.decode()}/stream"
        return web.Response(status=HTTPStatus.FOUND, headers={**headers.NO_REFERRER, "Location": public})
    return Sending(opened, asked, headers.audio_headers(is_public=False) | told)
