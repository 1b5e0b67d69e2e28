"""What labels say is for adults is in lists of the client that ask for it, and in no others."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fmsvc import AsyncClient
from fmsvc.mcp import reading
from schemas.labels import Label
from tests.indexer.changes import uri
from tests.readapi.music import playing, public_list_id, track_id


async def test_lists_have_what_is_for_adults_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every method of the client that lists tracks, and by the tools for assistants."""
    track, number = uri("mara", "track", 3), track_id("mara", 3)
    album, playlist = public_list_id("mara", 1), public_list_id("ben", 2)
    async with playing(tmp_path) as music, AsyncClient(api_url=music.address) as client:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        await music.label(Label("did:plc:labeler", str(track), None, "porn", at))
        asked: dict[str, Callable[[bool], Awaitable[Any]]] = {
            "list": lambda adult: client.tracks.list(limit=100, adult=adult),
            "top": lambda adult: client.discover.top_tracks(limit=100, adult=adult),
            "search": lambda adult: client.discover.search("song", type="tracks", limit=50, adult=adult),
            "tag": lambda adult: client.tags.tracks("ambient", limit=100, adult=adult),
            "likes": lambda adult: client.artists.likes("ida.example", adult=adult),
            "album": lambda adult: client.albums.get(album, adult=adult),
            "playlist": lambda adult: client.playlists.get(playlist, adult=adult),
        }
        for name, ask in asked.items():
            assert str(number) not in repr(await ask(False)), name
            assert str(number) in repr(await ask(True)), name

        caller = reading.caller

        class Here:
            """The caller of tools, whose API is this worker."""

            async def get(self, model: Any, *path: object, **query: Any) -> str:
                return repr(await client._http.ask("GET", *path, query=query))

        monkeypatch.setattr(reading, "caller", Here)
        tools: dict[str, Callable[[bool], Awaitable[Any]]] = {
            "list_tracks": lambda adult: reading.list_tracks(limit=100, adult=adult),
            "top_tracks": lambda adult: reading.top_tracks(limit=100, adult=adult),
            "search": lambda adult: reading.search("song", type="tracks", limit=50, adult=adult),
            "tracks_by_tag": lambda adult: reading.tracks_by_tag("ambient", limit=100, adult=adult),
            "get_album": lambda adult: reading.get_album(album, adult=adult),
            "get_playlist": lambda adult: reading.get_playlist(playlist, adult=adult),
        }
        for name, use in tools.items():
            assert str(number) not in await use(False), name
            assert str(number) in await use(True), name
        assert caller is not Here
