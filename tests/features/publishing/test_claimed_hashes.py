"""Whoever knows the hash of a file does not therefore have the file."""

from pathlib import Path

import pytest

from readapi.errors import ApiError, PdsUnavailable
from readapi.state.publishing.jobs import JobRequest
from readapi.state.state import State
from schemas.ids import Did
from schemas.publishing import Template
from tests.readapi.publishing.own_server import MADE, TRACK, Publishing, access, blob, silence, track
from tests.readapi.state.publishing.made import GRANT

EVE = Did("did:plc:eve")
FORGED = track(3, EVE)
OWNER = Template(access=access("owner", "off"), attach_rights=False)


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


async def test_a_forged_blob_does_not_give_away_a_protected_original(publishing: Publishing) -> None:
    """A record that names another's file as its blob cannot be protected: nobody gives that blob out."""
    secret, content = publishing.sound(1.0)
    await publishing.keep(TRACK, secret, content, OWNER.access)
    forged = {"$type": FORGED.collection, **MADE, "audioBlob": blob(secret.file_id, secret.bytes)}
    publishing.server.write(FORGED, forged)
    asked = JobRequest(EVE, GRANT, OWNER, "track")

    with pytest.raises(PdsUnavailable):
        await publishing.changing.change(asked, FORGED, asked, None, silence)

    assert await publishing.state.managed_audio.find(str(FORGED)) is None
    assert await publishing.has(secret)


async def test_a_forged_blob_is_no_earlier_version(publishing: Publishing) -> None:
    """So it cannot be restored; to replace it fails, and leaves the record as it is."""
    secret, content = publishing.sound(1.0)
    await publishing.keep(TRACK, secret, content, OWNER.access)
    forged = {"$type": FORGED.collection, **MADE, "audioBlob": blob(secret.file_id, secret.bytes)}
    publishing.server.write(FORGED, forged)
    upload = await publishing.received(FORGED, *publishing.sound(1.1))

    with pytest.raises(ApiError):
        await publishing.uploading.run(upload, silence)

    assert await publishing.state.revisions.of(FORGED) == []
    assert publishing.server.value(FORGED) == forged


async def test_who_has_the_same_file_keeps_it_too(publishing: Publishing) -> None:
    """What their server gives out they have; the file lies here once."""
    secret, content = publishing.sound(1.0)
    await publishing.keep(TRACK, secret, content, OWNER.access)
    publishing.show(FORGED, secret, content)
    asked = JobRequest(EVE, GRANT, OWNER, "track")

    await publishing.changing.change(asked, FORGED, asked, None, silence)

    assert len(await publishing.state.managed_audio.of_file(secret.file_id)) == 2
