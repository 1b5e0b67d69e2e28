"""A change of access moves the audio first and writes the record last, so that neither points to nothing."""

from pathlib import Path

import pytest

from readapi.errors import Conflict, NotFound
from readapi.publishing.access.change_track import ELSEWHERE, GONE, with_template
from readapi.state.publishing.jobs import JobRequest
from readapi.state.state import State
from schemas.publishing import OPEN, Template
from tests.readapi.publishing.own_server import MADE, TRACK, Publishing, access, silence
from tests.readapi.state.people import MARA
from tests.readapi.state.publishing.made import GRANT

EVERYBODY = Template(access=OPEN, attach_rights=False)
OWNER = Template(access=access("owner", "off"), attach_rights=False)
WITH_RIGHTS = Template(access=OPEN, attach_rights=True)


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


async def change(publishing: Publishing, settings: Template) -> None:
    asked = JobRequest(MARA, GRANT, settings, "track")
    await publishing.changing.change(asked, TRACK, asked, None, silence)


def test_a_template_sets_access_and_origin_and_leaves_the_rest_of_a_record() -> None:
    """Members that this service does not know belong to other programs."""
    changed = with_template({**MADE, "mood": "calm"}, OWNER, "track", None)

    assert changed == {**MADE, "mood": "calm", "access": OWNER.access.model_dump(), "policyOrigin": "track"}


@pytest.mark.parametrize(("template", "kept"), [(WITH_RIGHTS, True), (OWNER, False)])
def test_a_template_without_rights_removes_them(template: Template, kept: bool) -> None:
    """One with rights keeps those of the record."""
    assert ("rights" in with_template({**MADE, "rights": {}}, template, "track", None)) is kept


async def test_audio_goes_into_the_private_store_and_back_to_the_pds(publishing: Publishing) -> None:
    """Where the record says that it is, it is, after each of the two changes."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)

    await change(publishing, OWNER)
    narrowed, was_held = publishing.server.value(), await publishing.has(song)
    await change(publishing, EVERYBODY)
    widened = publishing.server.value()

    assert "audioBlob" not in narrowed
    assert song.file_id in narrowed["audioUrl"]
    assert was_held
    assert "audioUrl" not in widened
    assert publishing.server.blobs[widened["audioBlob"]["ref"]["$link"]] == content
    assert not await publishing.has(song)


async def test_the_same_change_again_changes_nothing(publishing: Publishing) -> None:
    """A worker that was interrupted repeats it."""
    publishing.show(TRACK, *publishing.sound(1.0))
    await change(publishing, OWNER)
    before = publishing.server.value()

    await change(publishing, OWNER)

    assert publishing.server.value() == before


async def test_a_change_that_ended_before_its_last_step_is_finished_by_the_next(
    publishing: Publishing,
) -> None:
    """The record has the audio in a blob already: the original of before is released all the same."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)
    await change(publishing, OWNER)

    async def killed() -> None:
        raise TimeoutError

    asked = JobRequest(MARA, GRANT, EVERYBODY, "track")
    with pytest.raises(TimeoutError):
        await publishing.changing.change(asked, TRACK, asked, None, killed)
    left = await publishing.has(song)
    await change(publishing, EVERYBODY)

    assert left
    assert not await publishing.has(song)


async def test_audio_at_another_service_cannot_be_restricted_here(publishing: Publishing) -> None:
    """Only that service decides who gets it; the record stays as it is."""
    before = {**MADE, "audioUrl": "https://away.example/a.wav"}
    publishing.server.write(TRACK, before)

    with pytest.raises(Conflict, match=ELSEWHERE):
        await change(publishing, OWNER)

    assert publishing.server.value() == before


async def test_a_track_that_is_gone_is_not_written_again(publishing: Publishing) -> None:
    with pytest.raises(NotFound, match=GONE):
        await change(publishing, OWNER)
