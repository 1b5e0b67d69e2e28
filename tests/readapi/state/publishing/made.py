"""What tests of publishing share: an upload, a job, and processes that claim them."""

from datetime import timedelta

from readapi.state.db.claims import Claimant
from readapi.state.publishing.jobs import JobRequest, JobTrack
from readapi.state.publishing.uploads import Audio, OnAlbum, Upload, Wanted
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import State
from schemas.ids import AtUri, Did, Rkey
from schemas.publishing import Template, TemplateAccess
from tests.readapi.state.people import MARA

ALBUM = AtUri.parse("at://did:plc:mara/fm.svc.list/3kalbum")
GRANT = GrantId("grant-1")
AUDIO = Audio("ab" * 32, 1234, "wav", "audio/wav", 3)
OWNER_ONLY = Template(
    access=TemplateAccess(listening="owner", downloads="off", visibility="unlisted"), attach_rights=False
)
FIRST, SECOND = Claimant("first", timedelta(seconds=30)), Claimant("second", timedelta(seconds=30))


def track(number: int, did: Did = MARA) -> AtUri:
    """One of somebody's tracks."""
    return AtUri.parse(f"at://{did}/fm.svc.track/3ktrack{number}")


async def upload(state: State, number: int = 1, did: Did = MARA) -> Upload:
    """An acknowledged upload."""
    wanted = Wanted(AUDIO, {"title": "Song"}, OnAlbum("First Light", ALBUM, Rkey("3knew")), "image/png")
    of_track = track(number, did)
    return await state.uploads.put(f"upload-{number}", did, GRANT, "publish", of_track, wanted)


async def job(
    state: State, *, key: str | None = None, request: str = "request", tracks: int = 3, did: Did = MARA
) -> str:
    """A job for an album of tracks, the last of them preserved."""
    asked = JobRequest(did, GRANT, OWNER_ONLY, "album", ALBUM)
    steps = [JobTrack(track(number, did), number) for number in range(tracks - 1)]
    steps.append(JobTrack(track(tracks - 1, did), tracks - 1, "preserved"))
    return await state.jobs.queue(asked, steps, key, request)
