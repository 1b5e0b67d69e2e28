"""Tracks share originals by their hash: a file is brought in once, and stays while a track refers to it."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from readapi.publishing.originals.references import audio_of, managed_of
from readapi.state.publishing.file_keys import original_key, received_audio, rendition_key
from readapi.state.publishing.stored_files import Release
from readapi.state.state import State
from schemas.audio import RENDITION_TYPE
from tests.readapi.publishing.own_server import Publishing, access, track
from tests.readapi.state.publishing.made import AUDIO

FIRST, SECOND = track(2), track(3)
OWNER = access("owner", "off")
MOVED = Release("moved")


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


async def test_an_upload_is_moved_among_the_originals_once(publishing: Publishing) -> None:
    """A worker that was interrupted may repeat the step."""
    song, content = publishing.sound(1.0)
    upload = await publishing.received(FIRST, song, content)

    for _ in range(2):
        await publishing.originals.take_in(upload.id, song.file_id)

    assert await publishing.store.size(received_audio(upload.id)) is None
    assert await publishing.store.size(original_key(song.file_id)) == len(content)


async def test_who_knows_a_files_hash_still_has_to_have_the_file(publishing: Publishing) -> None:
    """For a track that has not had it before, the file is fetched although the store holds the same bytes."""
    song, content = publishing.sound(1.0)
    await publishing.keep(FIRST, song, content, OWNER)
    fetched: list[Path] = []

    async def fetch(path: Path) -> None:
        fetched.append(path)
        await asyncio.to_thread(path.write_bytes, content)

    for wanted in (FIRST, SECOND):
        own = partial(publishing.originals.note, managed_of(wanted, song))
        await publishing.originals.fetch_in(wanted, song.file_id, fetch, own)

    assert len(fetched) == 1  # for the second track


async def test_a_file_that_two_tracks_share_outlives_the_first(publishing: Publishing) -> None:
    song, content = publishing.sound(1.0)
    await publishing.keep(FIRST, song, content, OWNER)
    await publishing.originals.own(managed_of(SECOND, song))

    await publishing.originals.erase(FIRST)
    kept = await publishing.originals.has(song.file_id)
    await publishing.originals.erase(SECOND)

    assert kept
    assert not await publishing.originals.has(song.file_id)


async def test_what_is_released_but_not_erased_can_be_had_back_for_a_while(publishing: Publishing) -> None:
    """The track refers to it no more, and the bytes are in the trash."""
    song, content = publishing.sound(1.0)
    await publishing.keep(FIRST, song, content, OWNER)

    await publishing.originals.forget(FIRST, MOVED)

    assert await publishing.originals.find(FIRST) is None
    assert await publishing.originals.has(song.file_id)
    assert not await publishing.has(song)


async def test_a_rendition_is_made_once_and_stays_playable_while_the_track_is_held(
    publishing: Publishing,
) -> None:
    """`hold` before the record is written must not silence those who listen meanwhile."""
    song, content = publishing.sound(1.0)
    await publishing.keep(FIRST, song, content, OWNER)
    rendered = await publishing.originals.rendered(managed_of(FIRST, song))
    size = await publishing.store.size(rendition_key(song.file_id, RENDITION_TYPE))
    await publishing.originals.own(rendered)

    await publishing.originals.hold(managed_of(FIRST, song))

    held = await publishing.originals.find(FIRST)
    assert size
    assert held is not None
    assert held.rendition_type == RENDITION_TYPE


async def test_a_file_is_read_as_uploaded_or_among_the_originals(publishing: Publishing) -> None:
    """The uploaded one first: an interrupted step may have left it in either place."""
    song, content = publishing.sound(1.0)
    upload = await publishing.received(FIRST, song, content)

    async with publishing.originals.reading(upload.id, song.file_id) as path:
        as_uploaded = path.read_bytes()
    await publishing.originals.take_in(upload.id, song.file_id)
    async with publishing.originals.reading(upload.id, song.file_id) as path:
        as_original = path.read_bytes()

    assert as_uploaded == as_original == content


def test_a_row_of_the_store_and_the_audio_of_an_upload_say_the_same() -> None:
    """One is made of the other without loss."""
    assert audio_of(managed_of(FIRST, AUDIO)) == AUDIO
