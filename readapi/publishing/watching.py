"""An upload as its owner watches it: as JSON, or as server-sent events that can be taken up again."""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from readapi.answers import render
from readapi.errors import ApiError, Conflict, NotFound, TooLarge, UnsupportedMediaType
from readapi.pds import REFUSALS
from readapi.state.state import State
from readapi.state.uploads import Upload
from readapi.viewer import SignedIn
from schemas.api.publishing import UploadProgress
from schemas.ids import record_id

LOOK_SECONDS = 0.3
SILENCE_SECONDS = 15.0  # after which a comment keeps the connection alive
PATIENCE_SECONDS = 60.0  # with work that a request waits for
STILL_AT_IT = "This takes longer than usual and goes on; look at the track again later."
_KINDS: tuple[type[ApiError], ...] = (NotFound, TooLarge, UnsupportedMediaType, *REFUSALS)
_FAILURES = {str(kind.code): kind for kind in _KINDS}
EVENT_STREAM = "text/event-stream"


class Events(web.StreamResponse):
    """Events as they happen. Ends with the last one, or with the client."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        headers = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(headers=headers)
        self._events = events

    async def write_eof(self, data: bytes = b"") -> None:
        """Everything is written here: by then the head is on its way."""
        async for event in self._events:
            await self.write(event)
        await super().write_eof(data)


async def find(state: State, upload_id: str, who: SignedIn) -> Upload:
    """Somebody's own upload. Raises NotFound, also of other people's."""
    upload = await state.uploads.find(upload_id)
    if upload is None or upload.did != who.did:
        raise NotFound("There is no such upload.")
    return upload


def told(upload: Upload) -> UploadProgress:
    """How far it is. The track is told of for as long as there is one."""
    return UploadProgress(
        upload_id=upload.id,
        status=upload.status,
        message=upload.message,
        phase=upload.phase,
        progress_pct=upload.progress_pct,
        track_id=record_id(str(upload.track)) if upload.is_there else None,
        atproto_uri=str(upload.track) if upload.is_there else None,
        error=upload.error,
    )


async def events(state: State, upload: Upload, seen: int) -> AsyncIterator[bytes]:
    """Each new version of the upload after the one that was seen, until it is settled."""
    silent = 0.0
    while True:
        if upload.version > seen:
            yield b"id: %d\ndata: %b\n\n" % (upload.version, render(told(upload)))
            seen, silent = upload.version, 0.0
        if upload.is_settled:
            return
        await asyncio.sleep(LOOK_SECONDS)
        silent += LOOK_SECONDS
        if silent >= SILENCE_SECONDS:
            yield b":\n\n"
            silent = 0.0
        found = await state.uploads.find(upload.id)
        if found is None:
            return
        upload = found


async def completed(state: State, upload: Upload, patience_seconds: float = PATIENCE_SECONDS) -> Upload:
    """The upload when it is done. Raises what it has failed with, and Conflict when it takes too long."""
    try:
        async with asyncio.timeout(patience_seconds):
            while not upload.is_settled:
                await asyncio.sleep(LOOK_SECONDS)
                upload = await state.uploads.find(upload.id) or upload
    except TimeoutError:
        raise Conflict(STILL_AT_IT) from None
    if upload.status == "failed":
        raise _FAILURES.get(str(upload.error), Conflict)(upload.message)
    return upload
