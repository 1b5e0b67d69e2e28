"""An upload's remaining steps: the audio is placed, the record written, then what it replaced is released."""

from dataclasses import replace
from pathlib import Path

import pytest

from readapi.errors import NotFound
from readapi.publishing.uploads.publish import REPLACED
from readapi.state.publishing.file_keys import received_audio
from readapi.state.state import State
from tests.readapi.publishing.own_server import TRACK, Publishing, silence


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


async def test_new_audio_takes_the_place_of_the_old_which_becomes_an_earlier_version(
    publishing: Publishing,
) -> None:
    """The phases are reported in order, and the track can have the old audio back."""
    old, new = publishing.sound(1.0), publishing.sound(1.1)
    publishing.show(TRACK, *old)
    upload = await publishing.received(TRACK, *new)
    phases: list[tuple[str, int]] = []

    async def say(phase: str, percent: int, _: str) -> None:
        phases.append((phase, percent))

    said = await publishing.uploading.run(upload, say)

    [version] = await publishing.state.revisions.of(TRACK)
    assert said == REPLACED
    assert publishing.server.blobs[publishing.server.value()["audioBlob"]["ref"]["$link"]] == new[1]
    assert version.audio.file_id == old[0].file_id
    assert phases == sorted(phases, key=lambda phase: phase[1])


async def test_a_step_that_is_repeated_makes_no_second_version(publishing: Publishing) -> None:
    """A worker may end after the record is written and before that is noted."""
    publishing.show(TRACK, *publishing.sound(1.0))
    upload = await publishing.received(TRACK, *publishing.sound(1.1))

    for _ in range(2):
        await publishing.uploading.run(upload, silence)

    assert len(await publishing.state.revisions.of(TRACK)) == 1


async def test_the_received_file_stays_until_the_upload_is_settled(publishing: Publishing) -> None:
    """Another attempt needs it."""
    publishing.show(TRACK, *publishing.sound(1.0))
    upload = await publishing.received(TRACK, *publishing.sound(1.1))

    await publishing.uploading.run(upload, silence)
    kept = await publishing.store.size(received_audio(upload.id))
    await publishing.uploading.let_go(upload)

    assert kept
    assert await publishing.store.size(received_audio(upload.id)) is None


async def test_a_track_that_was_deleted_meanwhile_gets_no_new_audio(publishing: Publishing) -> None:
    """Its record is not written again."""
    upload = await publishing.received(TRACK, *publishing.sound(1.0))

    with pytest.raises(NotFound):
        await publishing.uploading.run(replace(upload, kind="replace"), silence)

    assert publishing.server.records == {}
