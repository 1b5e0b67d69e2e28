"""An album as one zip, sent while it is made: the tracks that this viewer may keep, each checked."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from zipstream import ZIP_STORED, ZipStream

from readapi.audio import names
from readapi.audio.source import Source
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
_PIECE_BYTES = 4 << 20  # held in memory for each archive that is being sent, and nothing else is
_WRITE_BYTES = 256 << 10  # so that a slow client takes each within the limit


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
        client: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(headers={**headers, "Content-Type": ZIP})
        self._tracks = cards
        self._viewer = viewer
        self._index = index
        self._sources = sources
        self._client = client

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
                source = await self._kept(track)
                first = await _piece(source, 0)
            except ApiError as refusal:
                left_out.append(f"{_name(number, track)}: {refusal.message}\n")
            except FileNotFoundError:
                left_out.append(f"{_name(number, track)}: {NO_RECORDING}\n")
            else:
                await self._send_file(archive, _name(number, track), source, first)
        if left_out:
            archive.add("".join(left_out), LEFT_OUT)
        await self._write(archive.finalize())
        await self.write_eof()

    async def _send_file(self, archive: ZipStream, name: str, source: Source, piece: bytes) -> None:
        """One file, piece by piece, the first read already. A file that ends early ends the answer."""
        waiting = deque(_slices(piece))
        archive.add(_taken(waiting), name, size=source.size)
        zipped = archive.all_files()
        for start in range(_PIECE_BYTES, source.size, _PIECE_BYTES):
            while waiting:
                await self._write_next(zipped)
            waiting.extend(_slices(await _piece(source, start)))
        await self._write(zipped)

    def _numbered(self) -> Iterator[tuple[int, Card]]:
        """The tracks as they are now; those that the viewer may not know of any more left out."""
        for number, track in enumerate(self._tracks, 1):
            for now in tracks.seen(self._index.tracks([track.key]), self._viewer, "profile"):
                yield number, now

    async def _kept(self, track: Card) -> Source:
        """The original. Raises the refusal."""
        source = await self._sources.original(track, self._viewer, self._client)
        if isinstance(source, Elsewhere):
            raise NotFound(ELSEWHERE)
        return source

    async def _write(self, zipped: Iterator[bytes]) -> None:
        while await self._write_next(zipped):
            pass

    async def _write_next(self, zipped: Iterator[bytes]) -> bool:
        """As fast as it is taken; checksums are worked out beside the loop. False: that was all."""
        piece = await asyncio.to_thread(next, zipped, b"")
        if piece:
            async with asyncio.timeout(STALLED_SECONDS):
                await self.write(piece)
        return bool(piece)


async def _piece(source: Source, start: int) -> bytes:
    """The bytes from `start`, at most so many as are held. Raises FileNotFoundError.

    A file in a bucket is asked for again for each piece, so that no request lasts as long as a slow client.
    """
    length = min(_PIECE_BYTES, source.size - start)
    if source.file is not None:
        return await asyncio.to_thread(source.file.read, start, length)
    async with asyncio.timeout(STALLED_SECONDS):
        return b"".join([chunk async for chunk in source.read(start, start + length)])


def _slices(piece: bytes) -> Iterator[bytes]:
    return (piece[start : start + _WRITE_BYTES] for start in range(0, len(piece), _WRITE_BYTES))


def _taken(waiting: deque[bytes]) -> Iterator[bytes]:
    """The pieces that are ready. The zip takes one for each that it gives, so it never finds too few."""
    while waiting:
        yield waiting.popleft()


def _name(number: int, track: Card) -> str:
    told = orjson.loads(track.card + b"}")
    return f"{number:02} {names.file_name(told['artist'], told['title'], told['file_type'])}"
