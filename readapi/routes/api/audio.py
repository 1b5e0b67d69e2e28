"""Streaming and download of recordings, by track or by hash."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson
from aiohttp import web

from readapi.audio import file_names
from readapi.audio.select import AudioSelection, Elsewhere
from readapi.audio.sending import Sending
from readapi.audio.source import AudioSource
from readapi.errors import (
    ApiError,
    NotAuthenticated,
    NotFound,
    PdsUnavailable,
    RangeNotSatisfiable,
    ScopeUpgradeRequired,
    SessionExpired,
    SpaceRefused,
    SupportRequired,
)
from readapi.http.endpoint import Options, Routes
from readapi.http.limits.clients import Client
from readapi.http.request.headers import Conditions
from readapi.http.response import headers
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.index.queries.identifiers import TrackName
from readapi.pages.outbound_links import Leaving
from readapi.spaces.find_track import SpaceTrackFinder
from schemas.access import Viewer
from schemas.stored import Card

routes = Routes("audio")

Opened = AudioSource | Elsewhere
Open = Callable[[Card, Viewer | None, Client], Awaitable[Opened]]

_REFUSALS = (NotAuthenticated, SupportRequired, SpaceRefused, NotFound, RangeNotSatisfiable, PdsUnavailable)
_SOUND: Options = {
    "media_types": ("audio/*", "text/html"),
    "raises": _REFUSALS,
    "redirects": HTTPStatus.FOUND,
}
_OF_TRACK: Options = {**_SOUND, "raises": (*_REFUSALS, ScopeUpgradeRequired, SessionExpired)}


@routes.get("/tracks/{track_id}/stream", **_OF_TRACK)
async def stream_track(
    track_id: TrackName,
    finder: SpaceTrackFinder,
    sources: AudioSelection,
    who: SignedIn | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Stream a track. Range requests are supported.

    The first request for a blob on the artist's PDS waits until it was fetched in full and its hash verified.
    For a track in a private Space, the Space decides whether it admits the viewer; its refusal is final.

    For a recording at another service, players and programs are redirected. A browser gets a page that names
    the host and asks first.
    """
    card, viewer = await finder.find(track_id, who)
    return _answer_stream(await sources.heard(card, viewer, client), asked, viewer, leaving)


@routes.get("/tracks/{track_id}/download", **_OF_TRACK)
async def download_track(
    track_id: TrackName,
    finder: SpaceTrackFinder,
    sources: AudioSelection,
    who: SignedIn | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Download the original of a track as a named file, if the viewer may download it."""
    card, viewer = await finder.find(track_id, who)
    return _answer_download(card, await sources.original(card, viewer, client), asked, viewer, leaving)


@routes.get("/audio/{file_id}/stream", **_SOUND)
async def stream_file(
    file_id: str,
    index: Index,
    sources: AudioSelection,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Stream a recording by its hash, if the viewer may listen to a track that has it."""
    cards = tracks.find_tracks_of_file(index, file_id, await sources.tracks_of(file_id), viewer)
    _, opened = await _first(cards, viewer, client, sources.heard)
    return _answer_stream(opened, asked, viewer, leaving)


@routes.get("/audio/{file_id}/download", **_SOUND)
async def download_file(
    file_id: str,
    index: Index,
    sources: AudioSelection,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Download a recording by its hash, if the viewer may download a track that has it."""
    cards = tracks.find_tracks_of_file(index, file_id, await sources.tracks_of(file_id), viewer)
    card, opened = await _first(cards, viewer, client, sources.original)
    return _answer_download(card, opened, asked, viewer, leaving)


@routes.get("/audio/{file_id}", **_SOUND)
async def download_file_alias(
    file_id: str,
    index: Index,
    sources: AudioSelection,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Download a recording by its hash, under a shorter path."""
    return await download_file(file_id, index, sources, viewer, client, asked, leaving)


async def _first(
    cards: list[Card], viewer: Viewer | None, client: Client, open_: Open
) -> tuple[Card, Opened]:
    """The first track that lets the viewer have it. Raises the first refusal if none does."""
    refusals: list[ApiError] = []
    for card in cards:
        try:
            return card, await open_(card, viewer, client)
        except ApiError as refusal:
            refusals.append(refusal)
    raise refusals[0] if refusals else NotFound("There is no such recording.")


def _answer_stream(
    opened: Opened, asked: Conditions, viewer: Viewer | None, leaving: Leaving
) -> web.StreamResponse:
    """Responses may be cached by anyone only if all viewers get the same file at this address."""
    return _answer(opened, asked, headers.audio_headers(viewer is None), leaving)


def _answer_download(
    card: Card, opened: Opened, asked: Conditions, viewer: Viewer | None, leaving: Leaving
) -> web.StreamResponse:
    told = orjson.loads(card.card + b"}")
    name = file_names.file_name(told["artist"], told["title"], told["file_type"])
    named = {"Content-Disposition": file_names.attachment_header(name)}
    return _answer(opened, asked, headers.audio_headers(viewer is None) | named, leaving)


def _answer(opened: Opened, asked: Conditions, told: dict[str, str], leaving: Leaving) -> web.StreamResponse:
    if isinstance(opened, Elsewhere):
        return leaving.response(opened.url, told, is_to_page=asked.is_to_page)
    return Sending(opened, asked, told)
