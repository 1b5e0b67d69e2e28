"""An album as one zip, sent while it is made: the tracks that this viewer may keep, each checked."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from zipstream import ZIP_STORED, ZipStream

from readapi.audio import names
from readapi.audio.files import OpenFile
from readapi.audio.sources import ELSEWHERE, NO_RECORDING, Elsewhere, Sources
from readapi.errors import ApiError, NotFound
from readapi.queries import tracks
from readapi.search import Index
from schemas.access import Viewer
from schemas.stored import Card

ZIP = "application/zip"
LEFT_OUT = "Left out.txt"
STALLED_SECONDS = 60.0
LONGEST_SECONDS = 4 * 3600.0  # a whole archive, however slowly it is taken
_CHUNK_BYTES = 256 << 10


class Archive(web.StreamResponse):
    """The tracks in order; a text beside them names those that are left out, and why.

    Each is looked up again when its turn comes: meanwhile its artist may have changed who may have it.
    """

    def __init__(
        self,
        cards: Sequence[Card],
        viewer: Viewer | None,
        index: Index,
        sources: Sources,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(headers={**headers, "Content-Type": ZIP})
        self._tracks = cards
        self._viewer = viewer
        self._index = index
        self._sources = sources

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send all of it. Ends early when the other side goes away."""
        writer = await super().prepare(request)
        if request.method != "HEAD":
            async with asyncio.timeout(LONGEST_SECONDS):
                await self._send()
        return writer

    async def _send(self) -> None:
        archive, left_out = ZipStream(compress_type=ZIP_STORED), []
        for number, track in self._numbered():
            try:
                async with self._kept(track) as file:
                    archive.add(_pieces(file), _name(number, track), size=file.size)
                    await self._write(archive.all_files())
            except ApiError as refusal:
                left_out.append(f"{_name(number, track)}: {refusal.message}\n")
            except FileNotFoundError:
                left_out.append(f"{_name(number, track)}: {NO_RECORDING}\n")
        if left_out:
            archive.add("".join(left_out), LEFT_OUT)
        await self._write(archive.finalize())
        await self.write_eof()

    def _numbered(self) -> Iterator[tuple[int, Card]]:
        """The tracks as they are now; those that the viewer may not know of any more left out."""
        for number, track in enumerate(self._tracks, 1):
            for now in tracks.seen(self._index.tracks([track.key]), self._viewer, "profile"):
                yield number, now

    @asynccontextmanager
    async def _kept(self, track: Card) -> AsyncIterator[OpenFile]:
        """The original, on this machine for as long as the block runs. Raises the refusal."""
        source = await self._sources.original(track, self._viewer)
        if isinstance(source, Elsewhere):
            raise NotFound(ELSEWHERE)
        if source.file is not None:
            yield source.file
            return
        async with source.store.local(source.key) as path:
            yield OpenFile(path)

    async def _write(self, pieces: Iterator[bytes]) -> None:
        """As fast as they are taken; reading happens beside the loop."""
        while piece := await asyncio.to_thread(next, pieces, b""):
            async with asyncio.timeout(STALLED_SECONDS):
                await self.write(piece)


def _pieces(file: OpenFile) -> Iterator[bytes]:
    for start in range(0, file.size, _CHUNK_BYTES):
        yield file.read(start, _CHUNK_BYTES)


def _name(number: int, track: Card) -> str:
    told = orjson.loads(track.card + b"}")
    return f"{number:02} {names.file_name(told['artist'], told['title'], told['file_type'])}"
