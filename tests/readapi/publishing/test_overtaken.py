"""What others do to a record while work at it is under way is neither undone nor passed over."""

from pathlib import Path

import pytest

from readapi.audio.sources import original_key
from readapi.errors import Conflict
from readapi.state.state import State
from schemas.publishing import OPEN, TemplateAccess
from tests.readapi.publishing.own_server import TRACK, Publishing, access, silence


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


def narrowed(publishing: Publishing, who: TemplateAccess) -> None:
    """By another program, just before we write."""
    value = publishing.server.value()
    publishing.server.before_put = lambda: (
        publishing.server.write(TRACK, {**value, "access": who.model_dump()}) and None
    )


async def test_other_audio_is_not_published_when_access_was_narrowed_meanwhile(
    publishing: Publishing,
) -> None:
    """The file was sent to where everybody gets it; the record does not speak of it."""
    publishing.show(TRACK, *publishing.sound(1.0))
    before = publishing.server.value()["audioBlob"]
    upload = await publishing.received(TRACK, *publishing.sound(1.1))
    narrowed(publishing, access("owner", "off"))

    with pytest.raises(Conflict, match="meanwhile"):
        await publishing.uploading.run(upload, silence)

    assert publishing.server.value()["audioBlob"] == before
    assert publishing.server.value()["access"]["listening"] == "owner"


async def test_a_version_does_not_come_back_when_access_was_widened_meanwhile(publishing: Publishing) -> None:
    """It was for its owner alone when it was published; when its turn comes the track is for everybody."""
    publishing.show(TRACK, *publishing.sound(1.0))
    version, content = publishing.sound(1.1)
    await publishing.put(original_key(version.file_id), content)
    await publishing.state.revisions.add(TRACK, version, "managed", access("owner", "off"))
    before = publishing.server.value()
    upload = await publishing.received(TRACK, version, content, access("owner", "off"))

    with pytest.raises(Conflict, match="More people"):
        await publishing.uploading.run(upload, silence)

    assert publishing.server.value() == before


async def test_a_version_that_everybody_could_have_comes_back(publishing: Publishing) -> None:
    """To where it was, with what it was."""
    publishing.show(TRACK, *publishing.sound(1.0))
    version, content = publishing.sound(1.1)
    await publishing.put(original_key(version.file_id), content)
    await publishing.state.revisions.add(TRACK, version, "pds", OPEN)
    upload = await publishing.received(TRACK, version, content, OPEN)

    await publishing.uploading.run(upload, silence)

    assert publishing.server.value()["audioBlob"]["size"] == version.bytes
