"""Checks that the state database and the audio store belong together, before anything is deleted.

Both hold the same random identity, and an edition that changes whenever a file gets its first reference. A
state database with an edition older than the store's was restored from a backup and does not know the files
that the store has received since, so no file that was there at the restore is deleted because of it.
"""

import contextlib
import uuid
from typing import NamedTuple

import orjson
import structlog
from sqlalchemy.exc import SQLAlchemyError

from readapi.audio.store import AudioStore
from readapi.state.publishing.audio_stores import KEPT, StoreIdentity
from readapi.state.publishing.file_keys import FOLDERS, IDENTITY
from readapi.state.state import State

log = structlog.get_logger()

SAMPLE = 20  # files looked for
ADOPT = "if they belong together, run `fmsvc-server trash adopt`."
FOREIGN = (
    "The audio store belongs to another state database, so nothing in it is deleted. Check FMSVC_DATA_DIR, "
    f"FMSVC_STATE_URL and FMSVC_AUDIO_URL; {ADOPT}"
)
UNKNOWN = (
    "The audio store has files that this state database knows nothing of, so nothing in it is deleted. "
    f"Restore the state database that belongs to it, or {ADOPT}"
)
UNNAMED = (
    "The audio store has files and has lost its identity, so nothing in it is deleted. "
    f"Check FMSVC_AUDIO_URL; {ADOPT}"
)
RESTORED = f"The state database is older than the audio store, as a restored backup is. {KEPT}"


class IdentityFile(NamedTuple):
    """The identity file in the audio store."""

    store_id: str
    edition: str


class StorePairing:
    """`check` runs before each deletion, `advance` after each new reference to a file."""

    def __init__(self, state: State, store: AudioStore) -> None:
        self._known = state.audio_store
        self._files = state.stored_files
        self._locks = state.locks
        self._now = state.database.now
        self._store = store

    async def check(self) -> str | None:
        """The reason why nothing may be deleted; None: released files may be."""
        async with self._locks.holding("audio store"):
            return (await self._compared()).refusal

    async def advance(self) -> None:
        """Write a new edition, since a file got a reference that an older state database does not have."""
        async with self._locks.holding("audio store"):
            known = await self._compared()
            if known.refusal is None and known.store_id is not None:
                await self._write(known.store_id, known.edition)

    async def advance_if_possible(self) -> None:
        """As `advance`, but log a failure: for a queued upload, whose job advances the edition again."""
        try:
            await self.advance()
        except (OSError, SQLAlchemyError) as error:
            log.warning("the edition of the audio store was not advanced", error=str(error)[:200])

    async def adopt(self) -> None:
        """Pair the two at an operator's request, who states that they match and the database is complete."""
        async with self._locks.holding("audio store"):
            found, known = await self._found(), await self._known.find()
            if found is None or found.store_id != known.store_id:
                await self._known.start_over(restored_at=None)
            store_id = found.store_id if found is not None and found.store_id else uuid.uuid4().hex
            await self._known.tell(refusal=None, restored_at=None)
            await self._write(store_id, None if found is None else found.edition)

    async def _compared(self) -> StoreIdentity:
        """The database's row, after it was compared with the store and updated, refusal included."""
        known, found = await self._known.find(), await self._found()
        refusal = await self._refusal(known, found)
        if refusal != known.refusal:
            await self._known.tell(refusal=refusal)
            if refusal is not None:
                log.error("nothing in the audio store is deleted", reason=refusal)
            else:
                log.info("the audio store and the state database belong together")
        if refusal is None:
            await self._agree(known, found)
        return await self._known.find()

    async def _refusal(self, known: StoreIdentity, found: IdentityFile | None) -> str | None:
        if found is not None:
            if known.store_id is None:
                return UNKNOWN if await self._has_files() else None
            return None if known.store_id == found.store_id else FOREIGN
        if known.store_id is not None and known.previous_edition is None:
            return None  # the first one is about to be written
        if not await self._has_files():
            return None
        if known.store_id is not None:
            return UNNAMED
        return None if await self._knows_files() else UNKNOWN

    async def _agree(self, known: StoreIdentity, found: IdentityFile | None) -> None:
        """Bring the editions in the database and the store into agreement."""
        if known.store_id is None or found is None:
            await self._write(known.store_id or uuid.uuid4().hex, None)
        elif found.edition == known.previous_edition:
            await self._put(IdentityFile(found.store_id, str(known.edition)))
        elif found.edition == known.edition:
            if known.previous_edition is None:  # the first one has arrived there
                await self._known.tell(previous_edition=known.edition)
        else:
            log.warning(RESTORED)
            await self._known.start_over(restored_at=self._now())
            await self._write(found.store_id, found.edition)

    async def _write(self, store_id: str, before: str | None) -> None:
        """Write a new edition, to the database first: the store is never ahead of a current database."""
        identity = IdentityFile(store_id, uuid.uuid4().hex)
        await self._known.tell(store_id=store_id, edition=identity.edition, previous_edition=before)
        await self._put(identity)

    async def _put(self, identity: IdentityFile) -> None:
        await self._store.write(IDENTITY, orjson.dumps(identity._asdict()))

    async def _found(self) -> IdentityFile | None:
        content = await self._store.content(IDENTITY)
        if content is None:
            return None
        with contextlib.suppress(ValueError, TypeError):
            identity = IdentityFile(**orjson.loads(content))
            if all(isinstance(part, str) for part in identity):
                return identity
        return IdentityFile("", "")  # of no database

    async def _has_files(self) -> bool:
        for folder in FOLDERS:
            async for _ in self._store.keys(folder):
                return True
        return False

    async def _knows_files(self) -> bool:
        """Whether the store has a file that the database lists, which pairs a store without an identity."""
        for key in await self._files.some(SAMPLE):
            if await self._store.size(key) is not None:
                return True
        return False
