"""The whole service with a network of its own on loopback, filled with music, to be tried without internet.

`PORT=8000 python -m tests.network.demo` prints what it does, the addresses to open, then `ready http://…` on
a line of its own, and stays until Ctrl-C. It leaves nothing behind.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from schemas.ids import record_id
from tests.network import server
from tests.network.filling import Filled, fill
from tests.network.server import Server
from tests.network.testnet import NetworkMissing, Testnet

ARTISTS = 44
CATCH_UP_SECONDS = 120.0
POLL_SECONDS = 0.25
TO_VERIFY = ("FMSVC_PLC_URL", "FMSVC_HANDLE_RESOLVER", "FMSVC_ALLOW_LOOPBACK")


class DemoFailed(Exception):
    """The demo cannot go on; the message is a sentence for a person."""


async def run(port: int, artists: int, variables: Mapping[str, str]) -> None:
    """Start everything, fill it, say what to open, and stay."""
    _refuse_taken(port)
    with tempfile.TemporaryDirectory(prefix="fmsvc-demo-") as folder:
        _say("starting a PLC directory and a PDS")
        async with Testnet.start() as net:
            chosen = server.settings(net, Path(folder), port)
            async with server.running_server({**variables, **chosen}) as service:
                work = asyncio.create_task(_show(net, service, artists, chosen))
                await _while_all_live(work, net, service)


async def _show(net: Testnet, service: Server, artists: int, settings: Mapping[str, str]) -> None:
    _say(f"signing up {artists} artists and letting them publish")
    started = time.monotonic()
    filled = await fill(net.pds[0], artists)
    seconds = time.monotonic() - started
    _say(f"{len(filled.accounts)} accounts wrote {filled.records} records in {seconds:.1f} s")
    await _caught_up(service, filled)
    await _listen(service)
    for name, path in (await _tour(service, filled)).items():
        _say(f"  {name:<10} {service.url}{path}")
    somebody = filled.accounts[0]
    _say(f"  sign in    {service.url}/login as {somebody.handle}, whose password is: {somebody.password}")
    _say(f"  Iceberg    {settings['FMSVC_DATA_DIR']}/iceberg")
    _say(f"  verify     {_verifying(next(iter(filled.tracks)), settings)}")
    _say(f"ready {service.url}")
    await asyncio.Event().wait()


async def _while_all_live(work: asyncio.Task[None], net: Testnet, service: Server) -> None:
    """Wait for the work; stop it with a sentence as soon as a part that it needs is gone."""
    try:
        while not work.done():
            if service.process.returncode is not None:
                raise DemoFailed(f"The server ended with code {service.process.returncode}; see above.")
            if not net.running:
                raise DemoFailed("The PLC directory and the PDS ended; see above.")
            await asyncio.wait((work,), timeout=POLL_SECONDS)
        await work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _caught_up(service: Server, filled: Filled) -> None:
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while missing := await _missing(service, filled):
        if time.monotonic() > deadline:
            raise DemoFailed(f"The index did not catch up within {CATCH_UP_SECONDS:.0f} s: {missing}.")
        await asyncio.sleep(POLL_SECONDS)


async def _missing(service: Server, filled: Filled) -> str | None:
    """The first thing that the API does not show yet."""
    status, answer = await service.ask("/ready")
    if status != 200:
        return f"/ready answers {status} {answer}"
    status, stats = await service.ask("/stats")
    expected = {
        "total_tracks": len(filled.tracks),
        "total_albums": len(filled.albums),
        "total_playlists": len(filled.playlists),
        "total_likes": len(filled.likes),
        "total_comments": len(filled.comments),
    }
    found = {name: stats.get(name) for name in expected} if status == 200 else status
    if found != expected:
        return f"/stats shows {found} instead of {expected}"
    for uri, title in filled.tracks.items():
        status, page = await service.ask("/search/", q=title, type="tracks")
        if status != 200 or record_id(uri) not in {result["id"] for result in page["results"]}:
            return f"search does not find {title!r}"
    status, top = await service.ask("/tracks/top")
    if status != 200 or not top:
        return "/tracks/top is empty"
    status, manifest = await service.ask("/exports/")
    exported = manifest["exports"][-1]["snapshot_at"] if status == 200 else "nothing"
    seconds = len("2026-01-31T12:00:00")
    return None if exported[:seconds] >= stats["as_of"][:seconds] and status == 200 else "/exports/ is behind"


async def _listen(service: Server) -> None:
    """Play the tracks that most people like, and wait until the open data has these plays."""
    _, top = await service.ask("/tracks/top", limit=50)
    for track in top:
        async with service.session.post(f"{service.url}/tracks/{track['id']}/play"):
            pass  # a few are for supporters only
    deadline = time.monotonic() + CATCH_UP_SECONDS
    while not await _has_plays(service):
        if time.monotonic() > deadline:
            raise DemoFailed(f"No play was exported within {CATCH_UP_SECONDS:.0f} s.")
        await asyncio.sleep(POLL_SECONDS)


async def _has_plays(service: Server) -> bool:
    _, manifest = await service.ask("/exports/")
    return any(file["table"] == "plays_hourly" and file["rows"] for file in manifest["exports"][-1]["files"])


async def _tour(service: Server, filled: Filled) -> dict[str, str]:
    """One address of each kind, all about the track that most people like."""
    _, top = await service.ask("/tracks/top", limit=50)
    track = next(track for track in top if track["album"] and track["audio_storage"] == "pds")
    playlist = next(iter(filled.playlists))
    _, shown = await service.ask("/lists/playlists/by-uri", uri=playlist)
    page = f"{service.url}/track/{track['id']}"
    return {
        "home": "/",
        "docs": "/docs",
        "track": f"/track/{track['id']}",
        "artist": f"/u/{track['artist_handle']}",
        "album": f"/u/{track['artist_handle']}/album/{quote(track['album']['slug'])}",
        "playlist": f"/playlist/{shown['id']}",
        "player": f"/embed/track/{track['id']}",
        "search": f"/search/?q={quote(track['title'])}",
        "oEmbed": f"/oembed?url={quote(page, safe='')}",
        "newest": "/tracks/",
        "top": "/tracks/top",
        "tags": "/tracks/tags",
        "stats": "/stats",
        "open data": "/data",
        "SQL": "/data/sql",
        "ready": "/ready",
    }


def _verifying(uri: str, settings: Mapping[str, str]) -> str:
    """What to type into another terminal to see a record of this network proven."""
    variables = " ".join(f"{name}={settings[name]}" for name in TO_VERIFY)
    return f"{variables} {os.path.relpath(sys.executable)} -m readapi verify {uri}"


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            reason = error.strerror
            raise DemoFailed(
                f"Port {port} cannot be used ({reason}); choose another: PORT=8001 make demo."
            ) from error


def _say(line: str) -> None:
    print(line, flush=True)


async def _until_told_to_stop(port: int, artists: int, variables: Mapping[str, str]) -> None:
    demo = asyncio.ensure_future(run(port, artists, variables))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, demo.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await demo


def main() -> None:
    """Run the demo until it is told to stop; exit with 1 and a sentence when it cannot go on."""
    parser = argparse.ArgumentParser(description="The service with a network of its own on loopback.")
    parser.add_argument("--artists", type=int, default=ARTISTS, help="how many people publish")
    artists = parser.parse_args().artists
    variables = {name: value for name, value in os.environ.items() if name.startswith("FMSVC_")}
    defaults = {
        "FMSVC_LOG_LEVEL": "warning",
        "FMSVC_RATE_LIMIT": "100000/minute",
        "FMSVC_ICEBERG": "true",
        "FMSVC_SQL": "true",
        "FMSVC_PARQUET_SECONDS": "10",
        "FMSVC_PARQUET_FULL_SECONDS": "0",
    }
    port = os.environ.get("PORT", "8000")
    if not port.isdecimal() or int(port) > 65535:
        sys.exit(f"demo: PORT is {port!r}; it must be a number up to 65535.")
    try:
        asyncio.run(_until_told_to_stop(int(port), artists, {**defaults, **variables}))
    except (DemoFailed, NetworkMissing) as error:
        sys.exit(f"demo: {error}")


if __name__ == "__main__":
    main()
