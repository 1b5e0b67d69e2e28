"""Managed audio is known by its track and by its file."""

import asyncio
from dataclasses import replace

from readapi.state.publishing.file_keys import original_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import Release
from readapi.state.state import State
from tests.readapi.state.people import BEN, MARA

FILE = "ab" * 32
GONE = Release("gone")
TRACK = f"at://{MARA}/fm.svc.track/3aaaaaaaaaa2a"
SONG = Managed(TRACK, MARA, FILE, "flac", "audio/flac", 3_000_000_000, 240, rendition_type=None)


async def test_an_original_is_found_by_its_track(state: State) -> None:
    """As it was put; of another track nothing is known."""
    await state.managed_audio.put(SONG)

    assert await state.managed_audio.find(TRACK) == SONG
    assert await state.managed_audio.find(TRACK + "b") is None


async def test_a_track_has_one_original(state: State) -> None:
    """The last that was put."""
    rendered = replace(SONG, rendition_type="m4a")
    await state.managed_audio.put(SONG)

    await state.managed_audio.put(rendered)

    assert await state.managed_audio.find(TRACK) == rendered


async def test_the_tracks_of_a_file_are_found(state: State) -> None:
    """Several may be the same sound."""
    other = replace(SONG, track_uri=f"at://{BEN}/fm.svc.track/3aaaaaaaaaa2a", did=BEN)
    await state.managed_audio.put(SONG)
    await state.managed_audio.put(other)

    assert await state.managed_audio.of_file(FILE) == [other, SONG]
    assert await state.managed_audio.of_file("cd" * 32) == []


async def test_a_file_is_released_when_its_last_track_is_removed(state: State) -> None:
    """Then it may be deleted, if it was put by us."""
    other = replace(SONG, track_uri=f"at://{BEN}/fm.svc.track/3aaaaaaaaaa2a", did=BEN)
    await state.stored_files.expect(original_key(FILE))
    await state.managed_audio.put(SONG)
    await state.managed_audio.put(other)

    assert await state.managed_audio.remove(TRACK, GONE) == []
    assert await state.managed_audio.remove(TRACK, GONE) == []
    assert await state.managed_audio.remove(other.track_uri, GONE) == [FILE]
    [released] = await state.stored_files.in_trash(10)
    told = (released.key, released.reason, released.track_uri)
    assert told == (original_key(FILE), "gone", other.track_uri)


async def test_a_file_that_we_did_not_put_is_never_released(state: State) -> None:
    """So a state database that was restored lets go of what it knows, and deletes nothing."""
    await state.managed_audio.put(SONG)

    assert await state.managed_audio.remove(TRACK, GONE) == []
    assert await state.stored_files.in_trash(10) == []


async def test_of_many_that_say_it_at_once_the_last_is_right(state: State) -> None:
    """None of them fails, and the track has one original."""
    said = [replace(SONG, file_id=f"{number:064x}") for number in range(8)]

    await asyncio.gather(*(state.managed_audio.put(one) for one in said))

    assert await state.managed_audio.find(TRACK) in said
