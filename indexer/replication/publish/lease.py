"""Takes, renews and releases the lease in the object store, step by step."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog
from pydantic import ValidationError

from indexer.replication.manifest import LEASE
from indexer.replication.objects import Changed, Objects, ObjectsAway
from indexer.replication.publish.term import LeaseRecord, Step, Term

LOOKS: Final = 12  # in the lease's duration

log = structlog.get_logger()


def boot_seconds() -> float:
    """A clock that goes on while the process, or the machine, is stopped."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """The lease, as one node takes part in it. `is_whole`, `is_fresh`: see Term.next_step."""

    def __init__(
        self,
        objects: Objects,
        node: str,
        is_whole: Callable[[], bool],
        is_fresh: Callable[[], bool],
        seconds: float,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        self._objects = objects
        self._is_whole = is_whole
        self._is_fresh = is_fresh
        self._seconds = seconds
        self._clock = clock
        self.term = Term(node, seconds)

    @property
    def epoch(self) -> int | None:
        """The epoch in which this node may move `current.json`; None when it does not hold the lease."""
        return self.term.epoch(self._clock())

    async def run(self) -> None:
        """Take part until cancelled."""
        while True:
            held = self.epoch
            try:
                async with asyncio.timeout(self._seconds / 2):
                    await self.step()
            except (ObjectsAway, TimeoutError) as error:
                log.warning("lease not reached", reason=str(error) or "no answer in time")
            if held != self.epoch:
                log.info("lease taken" if self.epoch else "lease lost", epoch=self.epoch or held)
            await asyncio.sleep(self._seconds / LOOKS)

    async def step(self) -> None:
        """Read or write once, if it is time to. Raises ObjectsAway."""
        if self._next() == "read":
            await self._read()
        match self._next():
            case "write":
                await self._write(self.term.next_record())
            case "release":
                await self._release()

    async def release(self) -> None:
        """Let another node take the lease at once. Raises ObjectsAway."""
        if self.epoch is not None:
            await self._release()

    async def _release(self) -> None:
        await self._write(self.term.next_record().model_copy(update={"released": True}))

    def _next(self) -> Step:
        return self.term.next_step(self._clock(), is_whole=self._is_whole(), is_fresh=self._is_fresh())

    async def _read(self) -> None:
        found = await self._objects.find(LEASE)
        try:
            record = None if found is None else LeaseRecord.model_validate_json(found.content)
        except ValidationError as error:
            raise ObjectsAway(f"{LEASE} is no lease") from error
        self.term.read(record, found.tag if found else None, self._clock())

    async def _write(self, record: LeaseRecord) -> None:
        began, tag = self._clock(), self.term.tag
        self.term.doubt()  # until the answer is here
        try:
            written = await self._objects.put_if(LEASE, record.encoded(), tag)
        except Changed:
            return
        self.term.written(record, written, began)
