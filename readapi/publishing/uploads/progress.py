"""Progress of an upload for its owner: as JSON, or as server-sent events that can be resumed."""

import asyncio
import contextlib
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import structlog
from aiohttp import web
from sqlalchemy.exc import SQLAlchemyError

from readapi.answers import EVENT_STREAM, render_json
from readapi.errors import ApiError, Conflict, NotFound, RateLimited, TooLarge, UnsupportedMediaType
from readapi.http.viewer import SignedIn
from readapi.pds.repo import REFUSALS
from readapi.state.publishing.uploads import Upload
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.sign_in.sessions import Session
from readapi.state.state import State
from schemas.api.publishing import UploadProgress
from schemas.ids import AtUri, Did, record_id

log = structlog.get_logger()

LOOK_SECONDS = 0.3
SILENCE_SECONDS = 15.0  # after which a comment keeps the connection alive
CHECK_SECONDS = 5.0  # between checks that the session is still valid
WATCH_SECONDS = 300.0  # of one connection; then the client reconnects for newer events
RETRY_MILLISECONDS = 1000
MOST_WATCHED = 4  # at once by one account, in one worker
PATIENCE_SECONDS = 60.0  # with a job that a request waits for
STILL_AT_IT = "This takes longer than usual and continues in the background; check the track again later."
TOO_MANY = f"You watch {MOST_WATCHED} uploads already; end one of those, or ask for this one as JSON."
_KINDS: tuple[type[ApiError], ...] = (NotFound, TooLarge, UnsupportedMediaType, *REFUSALS)
_FAILURES = {str(kind.code): kind for kind in _KINDS}


class Watch(NamedTuple):
    """How long a connection may watch, and how often its session is checked."""

    seconds: float = WATCH_SECONDS
    check_seconds: float = CHECK_SECONDS


class Events(web.StreamResponse):
    """A response that streams events until the last one, or until the client disconnects."""

    def __init__(self, events: AsyncIterator[bytes], end: Callable[[], None]) -> None:
        """`end` is called exactly once, even if the response was never sent."""
        headers = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(headers=headers)
        self._events = events
        self._end = weakref.finalize(self, end)

    async def write_eof(self, data: bytes = b"") -> None:
        """Writes all events: aiohttp has sent the headers before it calls this."""
        try:
            async for event in self._events:
                await self.write(event)
            await super().write_eof(data)
        finally:
            self._end()


class _Followed:
    """One upload, polled once for all connections that watch it in this worker."""

    def __init__(self, state: State, upload: Upload) -> None:
        self.upload = upload
        self.watchers = 0
        self.is_over = False
        self._uploads = state.uploads
        self._changed = asyncio.Event()
        self.looking = asyncio.create_task(self._look())

    async def change(self, seconds: float) -> None:
        """Wait for the next version, for `seconds` at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _look(self) -> None:
        try:
            while not self.upload.is_settled:
                await asyncio.sleep(LOOK_SECONDS)
                found = await self._uploads.find(self.upload.id)
                if found is None:
                    return
                if found.version > self.upload.version:
                    self.upload = found
                    self._tell()
        except (SQLAlchemyError, OSError):
            log.exception("an upload cannot be looked up", upload=self.upload.id)
        finally:
            self.is_over = True
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class UploadWatch:
    """The uploads that are watched in this worker, and the number of watches per account."""

    def __init__(
        self,
        state: State,
        watch: Watch = Watch(),  # noqa: B008  # a value
        public_id: Callable[[AtUri], int] = lambda track: record_id(str(track)),
    ) -> None:
        """`public_id`: maps a track's URI to its public id."""
        self._state = state
        self._watch = watch
        self._public_id = public_id
        self._followed: dict[str, _Followed] = {}
        self._watched: Counter[Did] = Counter()

    def events(self, upload: Upload, seen: int, who: SignedIn) -> Events:
        """Stream each version of an upload after version `seen`. Raises RateLimited."""
        if self._watched[who.did] >= MOST_WATCHED:
            raise RateLimited(TOO_MANY, headers={"Retry-After": "10"})
        self._watched[who.did] += 1
        return Events(self._events(upload, seen, who), partial(self._leave, who.did))

    def describe_state(self, upload: Upload) -> UploadProgress:
        """The upload's progress. Names the track as long as that exists."""
        return UploadProgress(
            upload_id=upload.id,
            status=upload.status,
            message=upload.message,
            phase=upload.phase,
            progress_pct=upload.progress_pct,
            track_id=self._public_id(upload.track) if upload.is_there else None,
            atproto_uri=str(upload.track) if upload.is_there else None,
            error=upload.error,
        )

    async def completed(self, upload: Upload, patience_seconds: float = PATIENCE_SECONDS) -> Upload:
        """Wait until the upload is done. Raises its error, and Conflict when it takes too long."""
        until = asyncio.get_running_loop().time() + patience_seconds
        with self._following(upload) as followed:
            while not followed.upload.is_settled:
                left = until - asyncio.get_running_loop().time()
                if left <= 0 or followed.is_over:
                    raise Conflict(STILL_AT_IT)
                await followed.change(left)
            upload = followed.upload
        if upload.status == "failed":
            raise _FAILURES.get(str(upload.error), Conflict)(upload.message)
        return upload

    async def _events(self, upload: Upload, seen: int, who: SignedIn) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        until, sent_at = clock() + self._watch.seconds, clock()
        yield b"retry: %d\n\n" % RETRY_MILLISECONDS
        with self._following(upload) as followed:
            while clock() < until and await self._is_still(who):
                if followed.upload.version > seen:
                    seen, sent_at = followed.upload.version, clock()
                    yield b"id: %d\ndata: %b\n\n" % (seen, render_json(self.describe_state(followed.upload)))
                elif clock() - sent_at >= SILENCE_SECONDS:
                    sent_at = clock()
                    yield b":\n\n"
                if followed.is_over:
                    return
                if followed.upload.version == seen:
                    await followed.change(min(self._watch.check_seconds, max(0.0, until - clock())))

    async def _is_still(self, who: SignedIn) -> bool:
        """Whether the session, or the developer token, is still valid."""
        account = who.account
        if isinstance(account, Session):
            return await self._state.sessions.is_good(account)
        return isinstance(account, DeveloperToken) and await self._state.developer_tokens.is_good(account)

    @contextmanager
    def _following(self, upload: Upload) -> Iterator[_Followed]:
        followed = self._followed.get(upload.id)
        if followed is None or followed.is_over:
            followed = self._followed[upload.id] = _Followed(self._state, upload)
        followed.watchers += 1
        try:
            yield followed
        finally:
            followed.watchers -= 1
            if not followed.watchers:
                followed.looking.cancel()
                if self._followed.get(upload.id) is followed:
                    del self._followed[upload.id]

    def _leave(self, did: Did) -> None:
        self._watched[did] -= 1
        if not self._watched[did]:
            del self._watched[did]


async def find_upload(state: State, upload_id: str, who: SignedIn) -> Upload:
    """An upload of the signed-in account. Raises NotFound, also for uploads of other accounts."""
    upload = await state.uploads.find(upload_id)
    if upload is None or upload.did != who.did:
        raise NotFound("There is no such upload.")
    return upload
