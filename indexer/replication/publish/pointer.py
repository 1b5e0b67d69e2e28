"""`current.json`, which the holder of the lease moves: each write replaces the version of the one before."""

import structlog
from pydantic import ValidationError

from indexer.replication.manifest import CURRENT, Manifest
from indexer.replication.objects import Changed, Objects, ObjectsAway

log = structlog.get_logger()


class Pointer:
    """One holder's place in the versions of `current.json`."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._epoch: int | None = None  # in which `_tag` was read or written
        self._tag: str | None = None

    async def move(self, manifest: Manifest) -> bool:
        """Show a manifest. False: another indexer has moved the pointer since the lease was taken.

        A holder that was paused fails here, because the version that it would replace has changed.
        Raises ObjectsAway.
        """
        if self._epoch != manifest.epoch:
            found = await self._objects.find(CURRENT)
            if found is not None and _epoch_of(found.content) > manifest.epoch:
                return False
            self._epoch, self._tag = manifest.epoch, found.tag if found else None
        try:
            self._tag = await self._objects.put_if(CURRENT, manifest.encoded(), self._tag)
        except Changed:
            self._epoch = None
            return False
        except BaseException:
            self._epoch = None  # it may have been written
            raise
        return True


def _epoch_of(content: bytes) -> int:
    try:
        return Manifest.model_validate_json(content).epoch
    except ValidationError as error:
        raise ObjectsAway(f"{CURRENT} is no manifest of this version: {error.errors()[0]['msg']}") from error
