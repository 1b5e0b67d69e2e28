"""`fmsvc-server trash` lists what was released and restores it; `/ready` tells why nothing is deleted."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from readapi.audio.store import AudioStore
from readapi.index.queries import readiness
from readapi.state.publishing.stored_files import Release
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.readapi.publishing.house import House, of
from tests.readapi.state.people import HandClock
from tests.readapi.state.publishing.made import track


async def trash(folder: Path, *arguments: str) -> str:
    """What the command prints."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "readapi", "trash", *arguments],
        env={"PATH": os.defpath, "FMSVC_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
async def test_a_released_file_is_listed_and_restored(tmp_path: Path, clock: HandClock) -> None:
    """By its id; then it is not in the trash any more, and stays."""
    settings = Settings(data_dir=tmp_path)
    async with open_state(settings, clock) as state:
        house = House(state, AudioStore.of(settings), tmp_path, clock)
        await house.publish(1, "a")
        await house.originals.forget(track(1), Release("gone"))

    listed = await trash(tmp_path)
    told = await trash(tmp_path, "restore", "a" * 64)
    again = await trash(tmp_path, "restore", "a" * 64)

    assert f"{'a' * 64} originals gone " in listed
    assert "2 released files." in listed
    assert told.startswith(f"It is the original of {track(1)} again.\n")
    assert "is not in the trash" in again
    async with open_state(settings, clock) as state:
        house = House(state, AudioStore.of(settings), tmp_path, clock)
        await house.months()
        assert await house.files() == of("a")


async def test_ready_tells_why_nothing_is_deleted(tmp_path: Path, clock: HandClock) -> None:
    """Beside how many files are released, and how many belong to nothing; it stays ready."""
    settings = Settings(data_dir=tmp_path)
    async with open_state(settings, clock) as state:
        house = House(state, AudioStore.of(settings), tmp_path, clock)
        await house.publish(1, "a")
        await house.sweep()
        sound = await readiness.report_audio_store(state)
        await house.restore({})
        await house.sweep()
        emptied = await readiness.report_audio_store(state)

    assert (sound.deleting, sound.warnings, sound.orphans) == (True, [], 0)
    assert (emptied.deleting, emptied.orphans) == (False, 2)
    assert "knows nothing of" in emptied.warnings[0]
