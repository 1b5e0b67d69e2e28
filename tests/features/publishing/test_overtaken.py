"""What others do to a record while work at it is under way is neither undone nor passed over."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readapi.errors import ApiError, Conflict, PdsRefused, PdsUnavailable, SessionExpired
from readapi.pds.repo import Value
from readapi.state.publishing.file_keys import original_key
from readapi.state.publishing.jobs import JobRequest, JobTrack
from readapi.state.state import State
from schemas.audio import RENDITION_TYPE
from schemas.publishing import OPEN, Template, TemplateAccess
from tests.readapi.publishing.own_server import HOME, MADE, TRACK, Publishing, access, blob, silence
from tests.readapi.state.people import MARA
from tests.readapi.state.publishing.made import ALBUM, FIRST, GRANT


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

    with pytest.raises(Conflict, match="published with narrower access"):
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


OWNER = Template(access=access("owner", "off"), attach_rights=False)
EVERYBODY = Template(access=OPEN, attach_rights=False)
HEARD = Template(access=access("public", "off"), attach_rights=False)


async def change(publishing: Publishing, settings: Template) -> None:
    asked = JobRequest(MARA, GRANT, settings, "track")
    await publishing.changing.change(asked, TRACK, asked, None, silence)


async def test_an_original_outlives_a_move_of_the_service(publishing: Publishing, tmp_path: Path) -> None:
    """Its record names the host of before; it is ours still, and can be changed."""
    secret, content = publishing.sound(1.0)
    await publishing.keep(TRACK, secret, content, OWNER.access)
    moved = Publishing(publishing.state, tmp_path, "https://elsewhere.example", publishing.server)

    await change(moved, HEARD)

    assert moved.server.value()["audioUrl"] == f"https://elsewhere.example/audio/{secret.file_id}/stream"
    assert await moved.has(secret)


async def test_a_record_that_names_another_service_costs_nobody_the_original(publishing: Publishing) -> None:
    """Where it lies is another program's to say; the only copy stays."""
    secret, content = publishing.sound(1.0)
    await publishing.keep(TRACK, secret, content, OWNER.access)
    value = publishing.server.value()
    publishing.server.write(TRACK, {**value, "audioUrl": "https://away.example/a.wav"})

    await change(publishing, EVERYBODY)

    assert await publishing.has(secret)
    assert await publishing.state.managed_audio.find(str(TRACK)) is not None


def fail(error: Exception) -> None:
    raise error


async def test_what_a_server_may_write_yet_keeps_its_original(publishing: Publishing) -> None:
    """It fell silent after it was told; nothing is cleared away until it says what the record is."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)
    publishing.server.before_put = lambda: fail(PdsUnavailable())

    with pytest.raises(PdsUnavailable):
        await change(publishing, OWNER)

    assert await publishing.has(song)


async def test_what_a_server_refused_leaves_nothing_behind(publishing: Publishing) -> None:
    """The audio is where it was, and only there."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)
    publishing.server.before_put = lambda: fail(PdsRefused())

    with pytest.raises(PdsRefused):
        await change(publishing, OWNER)

    assert not await publishing.has(song)


async def test_a_narrowing_that_fails_silences_nobody(publishing: Publishing) -> None:
    """As long as the record says that everybody may hear the track, there is what they hear."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)
    await change(publishing, HEARD)
    publishing.server.before_put = lambda: fail(PdsRefused())

    with pytest.raises(PdsRefused):
        await change(publishing, OWNER)
    heard = await publishing.state.managed_audio.find(str(TRACK))
    await change(publishing, OWNER)
    hidden = await publishing.state.managed_audio.find(str(TRACK))

    assert (heard.rendition_type, hidden.rendition_type) == (RENDITION_TYPE, None)


@pytest.mark.parametrize(
    "odd",
    [
        {"audioBlob": {"cid": "bafy", "mimeType": "audio/wav"}},
        {"audioBlob": "song"},
        {"audioBlob": blob("ab" * 32, 1) | {"size": "1"}},
        {"audioUrl": f"{HOME}/audio/x", "access": "all"},
        {"audioBlob": blob("ab" * 32, 1), "access": {"listening": "nobody"}},
    ],
)
async def test_records_of_another_shape_are_refused(publishing: Publishing, odd: Value) -> None:
    """In one sentence, whoever wrote them."""
    publishing.server.write(TRACK, {"$type": TRACK.collection, **MADE, **odd})
    upload = await publishing.received(TRACK, *publishing.sound(1.1))

    with pytest.raises(Conflict, match="invalid audio or access"):
        await publishing.uploading.run(upload, silence)


def written_then(publishing: Publishing, error: Exception) -> None:
    """The server writes what it is told, but we are told something else."""
    put = publishing.server.put

    async def answer(*given: Any, **named: Any) -> Any:
        publishing.server.put = put
        await put(*given, **named)
        raise error

    publishing.server.put = answer


async def test_a_replacement_that_was_written_after_all_is_finished(publishing: Publishing) -> None:
    """Its record names the new file, so that is what is kept, whatever we were told."""
    await publishing.keep(TRACK, *publishing.sound(1.0), OWNER.access)
    new, content = publishing.sound(1.1)
    upload = await publishing.received(TRACK, new, content)
    written_then(publishing, PdsUnavailable())
    with pytest.raises(PdsUnavailable):
        await publishing.uploading.run(upload, silence)

    assert await publishing.uploading.compare(upload, is_last=False)

    await publishing.uploading.undo(upload)
    kept = await publishing.state.managed_audio.find(str(TRACK))
    assert kept.file_id == new.file_id
    assert await publishing.has(new)


@pytest.mark.parametrize("error", [PdsUnavailable(), SessionExpired()])
async def test_what_nobody_can_ask_about_is_kept(publishing: Publishing, error: ApiError) -> None:
    """When the server never says whether it wrote, both files stay; before that it is asked again."""
    old, content = publishing.sound(1.0)
    await publishing.keep(TRACK, old, content, OWNER.access)
    new, content = publishing.sound(1.1)
    upload = await publishing.received(TRACK, new, content)
    written_then(publishing, error)
    with pytest.raises(ApiError):
        await publishing.uploading.run(upload, silence)
    publishing.server.is_silent = True
    with pytest.raises(PdsUnavailable):
        await publishing.uploading.compare(upload, is_last=False)

    assert not await publishing.uploading.compare(upload, is_last=True)

    await publishing.state.uploads.claims.claim(FIRST)
    await publishing.state.uploads.fail(upload.id, FIRST, error.code, "It failed.")
    await publishing.uploading.undo(upload)
    assert await publishing.has(old)
    assert await publishing.has(new)


async def test_a_replacement_that_failed_made_no_earlier_version(publishing: Publishing) -> None:
    """Nor did it drive one out: there are ten, and the track is what it was."""
    song, content = publishing.sound(1.0)
    publishing.show(TRACK, song, content)
    for number in range(10):
        version = replace(song, file_id=f"{number:064x}")
        await publishing.state.revisions.add(TRACK, version, "pds", OPEN)
    before = await publishing.state.revisions.of(TRACK)
    upload = await publishing.received(TRACK, *publishing.sound(1.1))
    publishing.server.before_put = lambda: fail(PdsRefused())
    with pytest.raises(PdsRefused):
        await publishing.uploading.run(upload, silence)

    assert not await publishing.uploading.compare(upload, is_last=False)

    assert await publishing.state.revisions.of(TRACK) == before
    assert not await publishing.has(song)


async def test_a_track_that_was_given_settings_of_its_own_meanwhile_is_preserved(
    publishing: Publishing,
) -> None:
    """As it would have been if they had come before its album's job; the job is done."""
    publishing.show(TRACK, *publishing.sound(1.0))
    value = {**publishing.server.value(), "policyOrigin": "track"}
    publishing.server.write(TRACK, value)
    asked = JobRequest(MARA, GRANT, OWNER, "album", ALBUM)
    jobs = publishing.state.jobs
    job_id = await jobs.queue(asked, [JobTrack(TRACK, 1)], None, "request")
    await jobs.claims.claim(FIRST)

    await publishing.job_work.run(job_id, FIRST, await jobs.claims.attempt(job_id))

    done = await jobs.find(job_id)
    assert (done.status, done.tracks[0].outcome) == ("completed", "preserved")
    assert publishing.server.value() == value
