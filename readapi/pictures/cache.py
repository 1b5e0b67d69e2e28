"""The cache of pictures in sizes: each is made once of its account's blob, and kept while there is room."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from readapi.audio.blob_cache import Blobs
from readapi.audio.cache_folder import arriving, make_room
from readapi.audio.source import FileSource, OpenFile
from readapi.errors import NotFound, PdsUnavailable
from readapi.oauth.network import Network
from readapi.pictures.resize import resize_picture
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.ids import Cid, Did
from schemas.pictures import Side
from schemas.settings import Settings

FOLDER: Final = "pictures"
ORIGINALS: Final = "picture-blobs"
MEDIA_TYPE: Final = "image/webp"
MOST_UNDER_WAY: Final = 100
NO_PICTURE: Final = "There is no such picture."
TOO_MANY: Final = "Many pictures are being fetched; try again later."

_ORIGINAL_BYTES: Final = 64 * MAX_IMAGE_BYTES  # of blobs that are being worked at
_REFUSED_SECONDS: Final = 600.0  # before a blob that is no picture is looked at again
_MOST_REFUSED: Final = 10_000


class Pictures:
    """Finds a picture in a size, or makes it. Requests for the same picture share the work."""

    def __init__(self, folder: Path, originals: Blobs, max_bytes: int) -> None:
        self._folder = folder
        self._originals = originals
        self._max_bytes = max_bytes
        self._under_way: dict[Cid, asyncio.Task[None]] = {}
        self._refused: dict[Cid, float] = {}

    async def find(self, cid: Cid, side: Side, owners: Sequence[Did], client: str) -> FileSource:
        """The WebP of a picture that these accounts' records name.

        `client`: the account or network address that requests it. Raises NotFound for a blob that is no
        picture, and PdsUnavailable.
        """
        path = self._path(cid, side)
        for wait in (True, False):
            try:
                os.utime(path)  # for eviction by last use
                return FileSource(OpenFile(path), MEDIA_TYPE, f'"{cid}-{side}"')
            except FileNotFoundError:
                if wait:
                    await self._made(cid, owners, client)
        raise PdsUnavailable

    async def close(self) -> None:
        """Cancel running work."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._originals.close()

    def _path(self, cid: Cid, side: int) -> Path:
        return self._folder / f"{cid}-{side}.webp"

    async def _made(self, cid: Cid, owners: Sequence[Did], client: str) -> None:
        if self._refused.get(cid, 0.0) > time.monotonic():
            raise NotFound(NO_PICTURE)
        task = self._under_way.get(cid)
        if task is None:
            if len(self._under_way) >= MOST_UNDER_WAY:
                raise PdsUnavailable(TOO_MANY)
            task = self._under_way[cid] = asyncio.create_task(self._make(cid, owners, client))
            task.add_done_callback(lambda done: self._settled(cid, done))
        await asyncio.shield(task)

    def _settled(self, cid: Cid, done: "asyncio.Task[None]") -> None:
        del self._under_way[cid]
        if not done.cancelled():
            done.exception()  # the requests that asked have their answer, or are gone

    async def _make(self, cid: Cid, owners: Sequence[Did], client: str) -> None:
        """Fetch the blob of the first account whose server has it, and make every size of it."""
        for owner in owners:
            try:
                await self._originals.open(owner, cid, client=client)
            except PdsUnavailable:
                if owner == owners[-1]:
                    raise
                continue
            try:
                made = await resize_picture(self._originals.path(owner, cid))
            finally:
                self._originals.forget(owner, cid)
            if made is None:
                self._refuse(cid)
                raise NotFound(NO_PICTURE)
            await asyncio.to_thread(self._keep, cid, made)
            return
        raise NotFound(NO_PICTURE)

    def _keep(self, cid: Cid, made: Mapping[int, bytes]) -> None:
        for side, content in made.items():
            with arriving(self._path(cid, side)) as part:
                part.write_bytes(content)
                part.replace(self._path(cid, side))
        make_room(self._folder, self._max_bytes)

    def _refuse(self, cid: Cid) -> None:
        while len(self._refused) >= _MOST_REFUSED:
            del self._refused[next(iter(self._refused))]
        self._refused[cid] = time.monotonic() + _REFUSED_SECONDS


@asynccontextmanager
async def open_pictures(settings: Settings, network: Network) -> AsyncIterator[Pictures]:
    """The configured cache; running work is cancelled at the end."""
    originals = Blobs(settings.data_dir / ORIGINALS, network, _ORIGINAL_BYTES, longest_bytes=MAX_IMAGE_BYTES)
    pictures = Pictures(settings.data_dir / FOLDER, originals, settings.picture_cache_bytes)
    try:
        yield pictures
    finally:
        await pictures.close()
