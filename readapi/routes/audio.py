"""Recordings: heard, and kept by those who may."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson
from aiohttp import web

from readapi import headers
from readapi.audio import names
from readapi.audio.conditions import Conditions
from readapi.audio.sending import Sending
from readapi.audio.source import Source
from readapi.audio.sources import Elsewhere, Sources
from readapi.clients import Client
from readapi.endpoint import Options, Routes
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
from readapi.pages.leaving import Leaving
from readapi.queries import tracks
from readapi.queries.names import TrackName
from readapi.search import Index
from readapi.spaces.finder import Finder
from readapi.viewer import SignedIn
from schemas.access import Viewer
from schemas.stored import Card

routes = Routes("audio")

Opened = Source | Elsewhere
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
    finder: Finder,
    sources: Sources,
    who: SignedIn | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Let somebody hear a track, from any part of it on.

    Whoever first asks for what is at the artist's server waits until all of it is here and its hash is right.
    A private Space is asked whether it lets them in; when it refuses, that is final.

    To what another service keeps players and programs are redirected; a browser that would show it as a page
    is shown one that names the host and asks first.
    """
    card, viewer = await finder.find(track_id, who)
    return _heard(await sources.heard(card, viewer, client), asked, viewer, leaving)


@routes.get("/tracks/{track_id}/download", **_OF_TRACK)
async def download_track(
    track_id: TrackName,
    finder: Finder,
    sources: Sources,
    who: SignedIn | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Give the original to somebody who may have it, as a file with a name."""
    card, viewer = await finder.find(track_id, who)
    return _kept(card, await sources.original(card, viewer, client), asked, viewer, leaving)


@routes.get("/audio/{file_id}/stream", **_SOUND)
async def stream_file(
    file_id: str,
    index: Index,
    sources: Sources,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Let somebody hear the recording with a hash, by any track that it is of."""
    cards = tracks.of_file(index, file_id, await sources.tracks_of(file_id), viewer)
    _, opened = await _first(cards, viewer, client, sources.heard)
    return _heard(opened, asked, viewer, leaving)


@routes.get("/audio/{file_id}/download", **_SOUND)
async def download_file(
    file_id: str,
    index: Index,
    sources: Sources,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """Give the recording with a hash to somebody who may have it, by any track that it is of."""
    cards = tracks.of_file(index, file_id, await sources.tracks_of(file_id), viewer)
    card, opened = await _first(cards, viewer, client, sources.original)
    return _kept(card, opened, asked, viewer, leaving)


@routes.get("/audio/{file_id}", **_SOUND)
async def download_file_alias(
    file_id: str,
    index: Index,
    sources: Sources,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
    leaving: Leaving,
) -> web.StreamResponse:
    """The same under its shorter name."""
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


def _heard(opened: Opened, asked: Conditions, viewer: Viewer | None, leaving: Leaving) -> web.StreamResponse:
    """Nobody gets what everybody may have; somebody may get another file under the same address."""
    return _sent(opened, asked, headers.of_sound(viewer is None), leaving)


def _kept(
    card: Card, opened: Opened, asked: Conditions, viewer: Viewer | None, leaving: Leaving
) -> web.StreamResponse:
    told = orjson.loads(card.card + b"}")
    name = names.file_name(told["artist"], told["title"], told["file_type"])
    named = {"Content-Disposition": names.attachment(name)}
    return _sent(opened, asked, headers.of_sound(viewer is None) | named, leaving)


def _sent(opened: Opened, asked: Conditions, told: dict[str, str], leaving: Leaving) -> web.StreamResponse:
    if isinstance(opened, Elsewhere):
        return leaving.response(opened.url, told, is_to_page=asked.is_to_page)
    return Sending(opened, asked, told)
