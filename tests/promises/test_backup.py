"""A service that is backed up under load and restored into an empty folder answers as it did.

Backups that are killed leave nothing that has a backup's name. BACKUP_KILLS sets how many (1); SEED repeats
a run.
"""

import asyncio
import itertools
import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from readapi.backups import folder
from readapi.backups.manifest import Manifest
from tests.features.operating.test_file_modes import open_to_others
from tests.network.server import free_port
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS
from tests.readapi.audio.sounds import own_sound
from tests.readapi.studio import Artist, Studio, open_studio, template

pytestmark = [pytest.mark.network, pytest.mark.slow]

KILLS = int(os.environ.get("BACKUP_KILLS", "1"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
TAG = f"load{SEED}"  # of every track that is written while the backup runs
PRIVATE = json.dumps(template("owner", "off", "unlisted"))
# The instant of the snapshot that was counted, and what changes with every start.
PASSING = re.compile(rb'"as_of":"[^"]*"')


async def test_a_restored_service_answers_as_the_one_that_was_backed_up(net: Testnet, tmp_path: Path) -> None:
    """It goes on where the backup was, so that what came later is there too; sessions and recordings are."""
    print(f"SEED={SEED}")
    data, again, target = (tmp_path / name for name in ("data", "again", "backup"))
    port = str(free_port())
    async with open_studio(net, data, FMSVC_PORT=port) as studio:
        mara = await studio.artist()
        song = own_sound(tmp_path)
        secret = song.read_bytes()
        private = await mara.publish(song, publishing=PRIVATE, title="Only mine")
        stop = asyncio.Event()
        load = [asyncio.create_task(work) for work in (_write(mara, stop), _upload(mara, tmp_path, stop))]
        await asyncio.sleep(0.5)
        await _killed(data, target)
        assert await command(data, "restore", str(target)) == 1  # no backup, and a service that runs
        assert await command(data, "backup", str(target)) == 0
        assert not target.with_name(f"{target.name}.partial").exists()
        stop.set()
        written, uploaded = await load[0], await load[1]
        await _until_counted(mara, {"written": len(written), "uploaded": uploaded})
        paths = await _paths(mara, written, private["id"])
        before = await _settled(studio, paths)

    position = Manifest.model_validate_json((target / folder.MANIFEST).read_bytes()).catalogue
    assert position is not None
    [cursor] = position.cursors.values()
    assert cursor.seq > 0
    assert await command(again, "restore", str(target), FMSVC_PORT=port) == 0
    assert open_to_others(again) == []
    async with open_studio(net, again, FMSVC_PORT=port) as studio:
        mara = Artist(studio.door, mara.account, mara.session)
        after = await _until_same(studio, before)
        heard = await _download(mara, private["id"])
        liked = await mara.ask("POST", f"/tracks/{written[0]}/like")
        mine = await mara.ask("GET", "/tracks/me?limit=100")

    assert after == before
    assert heard == secret
    assert liked.status == 200, liked.json
    titles = [one["title"] for one in mine.json["tracks"]]
    assert len(titles) == len(set(titles))  # an upload that was under way became one track


async def _download(mara: Artist, track_id: int) -> bytes:
    headers = {"Authorization": f"Bearer {mara.session}"}
    async with mara.door.client.get(
        f"{mara.door.address}/tracks/{track_id}/download", headers=headers
    ) as reply:
        return await reply.read()


async def _write(mara: Artist, stop: asyncio.Event) -> list[int]:
    """Tracks that another program writes, until it is enough; the ids of those that were shown."""
    written = []
    for number in itertools.count():
        if stop.is_set():
            return written
        written.append((await mara.write_track(f"Written {number}", tags=[TAG]))[0])
    raise AssertionError


async def _upload(mara: Artist, place: Path, stop: asyncio.Event) -> int:
    """Tracks published through the API until `stop`; how many."""
    for number in itertools.count():
        if stop.is_set():
            return number
        await mara.publish(own_sound(place), title=f"Uploaded {number}", tags=json.dumps([TAG]))
    raise AssertionError


async def _killed(data: Path, target: Path) -> None:
    """Backups, each killed at some moment."""
    dice = random.Random(SEED)
    for number in range(KILLS):
        await command(data, "backup", str(target), killed_after=dice.uniform(0.5, 2.5))
        if target.exists():
            assert folder.check_folder(target, lambda done, total: None)
            target.rename(f"{target}-{number}")


async def command(data: Path, *arguments: str, killed_after: float | None = None, **settings: str) -> int:
    """Run `fmsvc-server`; its exit code."""
    environment = {"PATH": os.environ["PATH"], "FMSVC_DATA_DIR": str(data), **settings}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "readapi", *arguments, env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    if killed_after is not None:
        try:
            await asyncio.wait_for(process.wait(), killed_after)
        except TimeoutError:
            process.send_signal(signal.SIGKILL)
    return await process.wait()


async def _paths(mara: Artist, written: list[int], private: int) -> list[str]:
    of_tracks = [f"/tracks/{number}{more}" for number in written for more in ("", "/likes", "/comments")]
    asked = ("/tracks/?limit=50", "/search/?q=written", "/search/?q=uploaded", "/tracks/top", "/stats")
    artist = (f"/artists/{mara.did}", f"/tracks/?artist_did={mara.did}&limit=100", "/albums/", "/tracks/tags")
    return [
        *of_tracks,
        *asked,
        *artist,
        f"/tracks/{private}",
        f"/oembed?url={quote(str(mara.door.address))}/track/{written[0]}",
    ]


async def _until_counted(mara: Artist, titles: dict[str, int]) -> None:
    """Wait until search finds the tracks of each title, and the snapshot behind `/stats` counts all of them.

    Both follow some time after a record is shown, and stay the same until then: to look twice is not enough.
    """
    for title, count in titles.items():
        await mara.shows(
            f"/search/?q={title}&type=tracks",
            lambda reply, count=count: reply.json["counts"]["tracks"] == count,
        )
    tag = {"name": TAG, "track_count": sum(titles.values()), "total_plays": 0}
    await mara.shows(f"/tracks/tags?q={TAG}", lambda reply: tag in reply.json)


async def _settled(studio: Studio, paths: list[str]) -> dict[str, Any]:
    """The answers when nothing moves any more."""
    answers = await _answers(studio, paths)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await asyncio.sleep(1)
            again = await _answers(studio, paths)
            if again == answers:
                return answers
            answers = again


async def _until_same(studio: Studio, before: dict[str, Any]) -> dict[str, Any]:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        after = await _answers(studio, list(before))
        if after == before or time.monotonic() > until:
            return after
        await asyncio.sleep(0.2)


async def _answers(studio: Studio, paths: list[str]) -> dict[str, Any]:
    answers = {}
    for path in paths:
        async with studio.door.client.get(studio.door.address + path) as reply:
            answers[path] = reply.status, PASSING.sub(b"", await reply.read())
    return answers
