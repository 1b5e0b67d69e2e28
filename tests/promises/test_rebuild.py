"""An install that has lost everything and reads the network anew answers as it did before, byte for byte.

REBUILD_CALLS sets how many calls are compared (300; make test-long compares 1,000).
"""

import asyncio
import os
import random
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from schemas.ids import AtUri
from tests.network import server
from tests.network.filling import Filled, fill
from tests.network.merging_relay import MergingRelay
from tests.network.server import Server
from tests.network.testnet import Network, Testnet
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.network, pytest.mark.slow]

ARTISTS = 8
CALLS = int(os.environ.get("REBUILD_CALLS", "300"))
AT_ONCE = 8
# The instant of the snapshot that was counted is no answer of the network's.
AS_OF = re.compile(rb'"as_of":"[^"]*"')

Answers = dict[str, tuple[int, bytes]]


async def test_an_index_made_anew_answers_the_same(wide_network: Network, tmp_path: Path) -> None:
    """The first has followed the stream; for the second there is none, so it reads lists and whole repos."""
    async with Testnet.connect(wide_network) as net, MergingRelay(net) as relay:
        environment = {
            "FMSVC_LOG_LEVEL": "warning",
            "FMSVC_RATE_LIMIT": "1000000/minute",
            "FMSVC_RETRY_SECONDS": "0.2",
            **server.settings(net, tmp_path / "data", server.free_port()),
            "FMSVC_RELAY": relay.url,
        }
        async with server.running_server(environment) as api:
            filled = await fill(net.pds[0], ARTISTS)
            await _holds(api, filled)
            paths = random.Random(1).sample(sorted({path async for path in _questions(api)}), CALLS)
            before = await _settled(api, paths)
        shutil.rmtree(tmp_path / "data")
        relay.forget()
        async with server.running_server(environment) as api:
            await _holds(api, filled)
            different = await _differences(api, before)

    assert different == []
    assert len(before) == CALLS
    assert {status for status, _ in before.values()} == {200}


async def _holds(api: Server, filled: Filled) -> None:
    """Wait until all there is to see can be seen, under the names and handles that it ended with."""
    wanted = len(filled.tracks), len(filled.likes), len(filled.comments), len(filled.playlists)
    names = "total_tracks", "total_likes", "total_comments", "total_playlists"
    handles = {account.did: account.handle for account in filled.accounts}
    listed = {
        (uri, title, handles[AtUri.parse(uri).did])
        for uri, title in filled.tracks.items()
        if uri not in filled.unlisted
    }
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            status, stats = await api.ask("/stats")
            tracks = await _all(api, "/tracks/", "tracks", limit=50) if status == 200 else []
            shown = {(track["uri"], track["title"], track["artist_handle"]) for track in tracks}
            if shown == listed and tuple(stats[name] for name in names) == wanted:
                return
            await asyncio.sleep(0.1)


async def _settled(api: Server, paths: list[str]) -> Answers:
    """The answers when nothing moves any more: sizes of pictures and checks of handles come in later."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        answers = await _answers(api, paths)
        while True:
            await asyncio.sleep(1.5)
            again = await _answers(api, paths)
            if again == answers:
                return answers
            answers = again


async def _differences(api: Server, before: Answers) -> list[str]:
    """What is still answered differently after a while."""
    until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        after = await _answers(api, list(before))
        different = [
            f"{path}: {before[path]} became {after[path]}" for path in before if before[path] != after[path]
        ]
        if not different or asyncio.get_running_loop().time() > until:
            return different
        await asyncio.sleep(0.5)


async def _answers(api: Server, paths: list[str]) -> Answers:
    answers: Answers = {}
    left = iter(paths)

    async def work() -> None:
        for path in left:
            async with api.session.get(api.url + path) as response:
                answers[path] = response.status, AS_OF.sub(b"", await response.read())

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return answers


async def _questions(api: Server) -> AsyncIterator[str]:
    """Whatever may be asked about everything there is."""
    tracks = await _all(api, "/tracks/", "tracks", limit=7)
    for track in tracks:
        for path in _of_track(track):
            yield path
    for did in sorted({track["artist_did"] for track in tracks}):
        for path in _of_artist(did):
            yield path
        for playlist in (await api.ask(f"/lists/playlists/by-artist/{did}"))[1]:
            for path in _of_playlist(playlist):
                yield path
    for album in await _all(api, "/albums/", "albums", limit=3):
        yield f"/albums/by-id/{album['id']}"
        yield f"/albums/{album['artist_handle']}/{quote(album['slug'])}"
        yield f"/embed/album/{album['artist_handle']}/{quote(album['slug'])}"
        yield f"/u/{album['artist_handle']}/album/{quote(album['slug'])}"
    for path in _of_everything(tracks):
        yield path


async def _all(api: Server, path: str, name: str, **asked: Any) -> list[Any]:
    """All pages of a list."""
    found: list[Any] = []
    while True:
        _, page = await api.ask(path, **asked)
        found += page[name]
        if not page["has_more"]:
            return found
        asked["cursor"] = page["next_cursor"]


def _of_track(track: dict[str, Any]) -> Iterator[str]:
    number = track["id"]
    yield f"/tracks/{number}"
    yield f"/tracks/{quote(track['uri'], safe='')}"
    yield _path("/tracks/by-uri", uri=track["uri"])
    for limit in (1, 2, 50):
        yield _path(f"/tracks/{number}/likes", limit=limit)
        yield _path(f"/tracks/{number}/comments", limit=limit)
    yield f"/embed/track/{number}"
    yield f"/track/{number}"
    for width in (200, 300, 500):
        yield _path("/oembed", url=track["uri"], maxwidth=width)
    for query in {track["title"], *track["title"].split()}:
        for asked in ({}, {"sort": "recent"}, {"sort": "popular", "limit": 3}, {"type": "tracks,albums"}):
            if 2 <= len(query) <= 100:
                yield _path("/search/", q=query, **asked)


def _of_artist(did: str) -> Iterator[str]:
    yield f"/artists/{did}"
    yield f"/users/{did}/likes"
    yield f"/albums/{did}"
    for limit in range(1, 8):
        yield _path("/tracks/", artist_did=did, limit=limit)
        yield _path("/tracks/", artist_did=did, limit=limit, sort="popular")


def _of_playlist(playlist: dict[str, Any]) -> Iterator[str]:
    yield f"/lists/playlists/{playlist['id']}"
    yield _path("/lists/playlists/by-uri", uri=playlist["atproto_record_uri"])
    yield f"/playlist/{playlist['id']}"
    yield f"/embed/playlist/{playlist['id']}"


def _of_everything(tracks: list[dict[str, Any]]) -> Iterator[str]:
    yield "/stats"
    for limit in range(1, 51):
        yield _path("/tracks/top", limit=limit)
        yield _path("/tracks/tags", limit=limit)
        yield _path("/tracks/", limit=limit)
        yield _path("/tracks/", limit=limit, sort="popular")
        yield _path("/albums/", limit=limit)
    for tag in sorted({tag for track in tracks for tag in track["tags"]}):
        yield f"/tracks/tags/{quote(tag)}"
        for sort in ("recent", "popular"):
            yield _path("/tracks/", tags=tag, sort=sort)
        for letters in range(1, len(tag) + 1):
            yield _path("/tracks/tags", q=tag[:letters])


def _path(path: str, **asked: object) -> str:
    return f"{path}?{urlencode(asked, quote_via=quote)}"
