"""The regular round deletes what was released, and what nobody finished sending."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from readapi.audio.store import AudioStore
from readapi.publishing.originals.references import managed_of
from readapi.state.publishing.file_keys import original_key, received_audio, rendition_key
from readapi.state.publishing.stored_files import AT_ONCE, Release
from readapi.state.state import State
from schemas.publishing import OPEN
from schemas.settings import Settings
from tests.readapi.publishing.house import House, audio
from tests.readapi.state.people import HandClock
from tests.readapi.state.publishing.made import AUDIO, track, upload

GONE = Release("gone", AT_ONCE)


@pytest.fixture
def house(state: State, tmp_path: Path, clock: HandClock) -> House:
    return House(state, AudioStore.of(Settings(data_dir=tmp_path)), tmp_path, clock)


async def test_only_what_was_released_is_swept_away(house: House, state: State) -> None:
    """A track's original and rendition, a version's copy, a waiting upload's file and strangers stay."""
    waiting = await upload(state)
    kept = [
        original_key("a" * 64),
        rendition_key("a" * 64, "m4a"),
        original_key("b" * 64),
        original_key(AUDIO.file_id),
        received_audio(waiting.id),
    ]
    gone = [original_key("c" * 64), rendition_key("b" * 64, "m4a"), received_audio("broken-off")]
    unknown = [original_key("d" * 64), received_audio("unknown")]
    await state.stored_files.expect(*kept, *gone)
    for key in (*kept, *gone, *unknown):
        await house.put(key)
    await state.managed_audio.put(managed_of(track(1), audio("a")))
    await state.revisions.add(track(2), audio("b"), "pds", OPEN)

    await house.sweep(days=365)

    assert await house.files() == {*kept, *unknown}


async def test_a_request_that_broke_off_leaves_nothing(house: House) -> None:
    """After an hour in which nothing came."""
    receiving = house.folder / "receiving"
    receiving.mkdir()
    for name in ("half", "young"):
        (receiving / name).write_bytes(b"so")
    long_ago = time.time() - timedelta(hours=2).total_seconds()
    os.utime(receiving / "half", (long_ago, long_ago))

    await house.sweep()

    assert [path.name for path in receiving.iterdir()] == ["young"]


async def test_a_file_stays_as_long_as_anybody_needs_it(house: House, state: State) -> None:
    """Two tracks of one file, and a version of a third: the last one takes it along."""
    same, key = audio("a"), original_key("a" * 64)
    await state.stored_files.expect(key)
    await house.put(key)
    for number in (1, 2):
        await house.originals.own(managed_of(track(number), same))
    await state.revisions.add(track(3), same, "managed", OPEN)

    sizes = []
    for number in (1, 2, 3):
        await house.originals.forget_all(track(number), GONE)
        await house.sweep()
        sizes.append(await house.store.size(key))

    assert sizes == [5, 5, None]
