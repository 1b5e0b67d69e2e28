"""Files that are nobody's go after a while, and no others."""

import os
import time
from datetime import timedelta
from pathlib import Path

from readapi.audio.keys import original_key, received_audio, rendition_key
from readapi.audio.store import AudioStore
from readapi.publishing.originals import Originals, managed_of
from readapi.publishing.sweeping import Sweeping
from readapi.state.state import State
from readapi.state.uploads import Audio
from schemas.publishing import OPEN
from schemas.settings import Settings
from tests.readapi.state.publishing import AUDIO, track, upload

GRACE = timedelta(hours=1)


def audio(letter: str) -> Audio:
    return Audio(letter * 64, 5, "wav", "audio/wav", 1)


async def put(store: AudioStore, folder: Path, *keys: str) -> None:
    for key in keys:
        path = folder / "source"
        path.write_bytes(b"sound")
        await store.put(key, path)


async def test_only_what_is_old_and_nobodys_is_swept_away(state: State, tmp_path: Path) -> None:
    """A track's original and rendition, a version's copy and a waiting upload's file stay."""
    folder, receiving = tmp_path / "store", tmp_path / "receiving"
    receiving.mkdir()
    store = AudioStore.of(Settings(data_dir=tmp_path, audio_url=str(folder)))
    waiting = await upload(state)
    await state.managed_audio.put(managed_of(track(1), audio("a")))
    await state.revisions.add(track(2), audio("b"), "pds", OPEN)
    kept = [
        original_key("a" * 64),
        rendition_key("a" * 64, "m4a"),
        original_key("b" * 64),
        original_key(AUDIO.file_id),
        received_audio(waiting.id),
    ]
    gone = [
        original_key("c" * 64),
        rendition_key("b" * 64, "m4a"),
        received_audio("nobodys"),
        f"{original_key('a' * 64)}.0123456789ab.part",
    ]
    await put(store, tmp_path, *kept, *gone)
    (receiving / "half").write_bytes(b"so")
    long_ago = time.time() - 2 * GRACE.total_seconds()
    for path in [*folder.rglob("*"), receiving / "half"]:
        os.utime(path, (long_ago, long_ago))
    await put(store, tmp_path, original_key("d" * 64))

    await Sweeping(state, store, Originals(state, store), receiving, GRACE).sweep()

    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert sorted(left) == sorted([*kept, original_key("d" * 64)])
    assert list(receiving.iterdir()) == []


async def test_a_file_stays_as_long_as_anybody_needs_it(state: State, tmp_path: Path) -> None:
    """Two tracks of one file, and a version of a third: the last one takes it along."""
    store = AudioStore.of(Settings(data_dir=tmp_path))
    originals, same = Originals(state, store), audio("a")
    await put(store, tmp_path, original_key(same.file_id))
    for number in (1, 2):
        await originals.own(managed_of(track(number), same))
    await state.revisions.add(track(3), same, "managed", OPEN)

    sizes = []
    for forget in (originals.forget(track(1)), originals.forget(track(2)), originals.forget_all(track(3))):
        await forget
        sizes.append(await store.size(original_key(same.file_id)))

    assert sizes == [5, 5, None]
