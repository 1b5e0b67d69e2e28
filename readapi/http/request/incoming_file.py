"""The large file of a form while it is received: streamed to disk, never whole in memory."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from readapi.errors import ApiError, InvalidRequest, TooLarge
from readapi.http.limits.body_pace import Pace
from readapi.http.limits.disk_reservations import Reservation
from schemas.api.shape import Received

CHUNK_BYTES = 1 << 20
MOST_NAME: Final = 200  # characters of a file's name
NO_FORM: Final = "The form is not well-formed."
# What aiohttp's reader of multipart bodies raises where a body breaks RFC 7578 or RFC 2046.
_MALFORMED: Final = (
    ValueError,
    AssertionError,
    LookupError,
    RuntimeError,
    HttpProcessingError,
    web.HTTPBadRequest,
)


class Room(Protocol):
    """Reserves disk space for a form's large file. Raises RateLimited when there is none."""

    async def begin(self, most_bytes: int) -> Reservation:
        """Reserve space for a file of at most `most_bytes`; 0: its length is unknown."""
        ...

    async def grow(self, reservation: Reservation, size: int) -> None:
        """Enlarge the reservation to `size` bytes in total."""
        ...


class Incoming(NamedTuple):
    """A file that space is reserved for."""

    reservation: Reservation
    room: Room
    most_bytes: int

    async def receive(self, part: BodyPartReader, pace: Pace) -> Received:
        """Stream the part to disk, and hash it on the way. Raises TooLarge and RateLimited."""
        reservation, digest, size = self.reservation, hashlib.sha256(), 0

        def write(chunk: bytes) -> None:
            digest.update(chunk)
            reservation.file.write(chunk)

        async for chunk in read_chunks(part, self.most_bytes, pace):
            size += len(chunk)
            if size > reservation.reserved:
                await self.room.grow(reservation, size)
            await asyncio.to_thread(write, chunk)
        reservation.file.truncate(size)
        reservation.file.flush()
        return Received(reservation.path, size, digest.hexdigest(), reservation.close, file_name(part))

    def close(self) -> None:
        """Release the reservation."""
        self.reservation.close()


class NoRoom(NamedTuple):
    """A file that no space could be reserved for."""

    refusal: ApiError

    async def receive(self, part: BodyPartReader, pace: Pace) -> Received:
        """Raises the refusal."""
        raise self.refusal

    def close(self) -> None:
        """Nothing is reserved."""


async def read_chunks(part: BodyPartReader, most_bytes: int, pace: Pace) -> AsyncIterator[bytes]:
    """The part in larger chunks: to write each small network read costs more than to collect them.

    Raises TooLarge after `most_bytes`.
    """
    collected, left = bytearray(), most_bytes
    while chunk := await next_chunk(part, pace):
        collected += chunk[:left]
        if len(chunk) > left:
            yield bytes(collected)
            raise TooLarge(f"{part.name} is larger than {most_bytes:,} bytes.")
        left -= len(chunk)
        if len(collected) >= CHUNK_BYTES:
            yield bytes(collected)
            collected.clear()
    yield bytes(collected)


def file_name(part: BodyPartReader) -> str:
    """What the client calls the part's file, without folders; empty where it says nothing."""
    with refuse_malformed():
        name = part.filename or ""
    return name.replace("\\", "/").rpartition("/")[2].replace("\0", "")[:MOST_NAME]


async def next_chunk(part: BodyPartReader, pace: Pace) -> bytes:
    """The next bytes of a part; empty at its end."""
    with refuse_malformed():
        return await pace.keep(part.read_chunk(CHUNK_BYTES))


@contextmanager
def refuse_malformed() -> Iterator[None]:
    """Turn errors of aiohttp's multipart reader into a refusal."""
    try:
        yield
    except _MALFORMED:
        raise InvalidRequest(NO_FORM) from None
