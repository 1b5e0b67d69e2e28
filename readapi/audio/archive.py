"""Streams an album or a playlist as one zip while it is made: what the viewer may download, each checked."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from zipstream import ZIP_STORED, ZipStream

from readapi.audio import file_names
from readapi.audio.select import ELSEWHERE, NO_RECORDING, AudioSelection, Elsewhere
from readapi.audio.source import AudioSource
from readapi.errors import ApiError, NotFound
from readapi.http.response.headers import audio_headers
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from schemas.access import Place, Viewer
from schemas.stored import Card

ZIP = "application/zip"
LEFT_OUT = "Left out.txt"
STALLED_SECONDS = 60.0
LONGEST_SECONDS = 4 * 3600.0  # a whole archive, however slow the client is
_PIECE_BYTES = 4 << 20  # buffered in memory for each archive that is being sent
_WRITE_BYTES = 256 << 10  # small enough for a slow client to receive each within STALLED_SECONDS


class Archive(web.StreamResponse):
    """The tracks in order, and a text file that names the tracks left out and the reason.

    Each track is looked up again before it is sent: its artist may have changed its access meanwhile.
    `owner` and `title` of the list name the file. `place`: where the viewer meets the tracks. `adult`: with
    those that labels say are for adults.
    """

    def __init__(
        self,
        cards: Sequence[Card],
        place: Place,
        viewer: Viewer | None,
        index: Index,
        sources: AudioSelection,
        client: str,
        *,
        owner: str,
        title: str,
        adult: bool,
    ) -> None:
        named = file_names.attachment_header(file_names.file_name(owner, title, "zip"))
        sent = {"Content-Type": ZIP, "Content-Disposition": named}
        super().__init__(headers=audio_headers(is_public=False) | sent)
        self._tracks = cards
        self._place = place
        self._viewer = viewer
        self._index = index
        self._sources = sources
        self._client = client
        self._adult = adult

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the whole archive. Ends early when the client disconnects."""
        writer = await super().prepare(request)
        if request.method != "HEAD":
            async with asyncio.timeout(LONGEST_SECONDS):
                await self._send(request.transport)
        return writer

    async def _send(self, transport: asyncio.Transport | None) -> None:
        if transport is None:
            raise ConnectionResetError("the client has disconnected")
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
                with source.sent_on(transport):
                    await self._send_file(archive, _name(number, track), source, first)
        if left_out:
            archive.add("".join(left_out), LEFT_OUT)
        await self._write(archive.finalize())
        await self.write_eof()

    async def _send_file(self, archive: ZipStream, name: str, source: AudioSource, piece: bytes) -> None:
        """Send one file, of which `piece` was read already. A file that ends early ends the response."""
        waiting = deque(_slices(piece))
        archive.add(_taken(waiting), name, size=source.size)
        zipped = archive.all_files()
        for start in range(_PIECE_BYTES, source.size, _PIECE_BYTES):
            while waiting:
                await self._write_next(zipped)
            waiting.extend(_slices(await _piece(source, start)))
        await self._write(zipped)

    def _numbered(self) -> Iterator[tuple[str, Card]]:
        """The tracks from the current index, without those that the viewer may no longer see.

        Their numbers have the same length, so that names are in the order of the list.
        """
        digits = max(2, len(str(len(self._tracks))))
        for number, track in enumerate(self._tracks, 1):
            found = self._index.tracks([track.key])
            for now in tracks.filter_visible(found, self._viewer, self._place, adult=self._adult):
                yield f"{number:0{digits}}", now

    async def _kept(self, track: Card) -> AudioSource:
        """The original. Raises ApiError if the viewer may not download it."""
        source = await self._sources.original(track, self._viewer, self._client)
        if isinstance(source, Elsewhere):
            raise NotFound(ELSEWHERE)
        return source

    async def _write(self, zipped: Iterator[bytes]) -> None:
        while await self._write_next(zipped):
            pass

    async def _write_next(self, zipped: Iterator[bytes]) -> bool:
        """Write one piece; its checksum is computed in a thread. Returns False at the end."""
        piece = await asyncio.to_thread(next, zipped, b"")
        if piece:
            async with asyncio.timeout(STALLED_SECONDS):
                await self.write(piece)
        return bool(piece)


async def _piece(source: AudioSource, start: int) -> bytes:
    """The bytes from `start`, _PIECE_BYTES at most. Raises FileNotFoundError.

    For a file in a bucket each piece is a new request, so that none lasts as long as a slow client.
    """
    length = min(_PIECE_BYTES, source.size - start)
    if source.file is not None:
        return await asyncio.to_thread(source.file.read, start, length)
    async with asyncio.timeout(STALLED_SECONDS):
        return b"".join([chunk async for chunk in source.read(start, start + length)])


def _slices(piece: bytes) -> Iterator[bytes]:
    return (piece[start : start + _WRITE_BYTES] for start in range(0, len(piece), _WRITE_BYTES))


def _taken(waiting: deque[bytes]) -> Iterator[bytes]:
    """The buffered pieces. The zip reads one for each that it yields, so the buffer never runs short."""
    while waiting:
        yield waiting.popleft()


def _name(number: str, track: Card) -> str:
    card = orjson.loads(track.card + b"}")
    return f"{number} {file_names.file_name(card['artist'], card['title'], card['file_type'])}"
