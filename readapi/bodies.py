"""A request's body → the members of what a handler asks for: JSON, a form, or a form with files."""

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol
from urllib.parse import parse_qsl

import orjson
from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from readapi.answers import JSON
from readapi.arrivals import Arrival
from readapi.encodings import PARTS, Encoding, in_form
from readapi.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from readapi.intake import Intake, Pace
from schemas.api.shape import Received
from schemas.errors import FieldError

MOST_BYTES = 256 << 10
MOST_PARTS = 64
CHUNK_BYTES = 1 << 20
_NO_FORM: Final = "The form is not well-formed."
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
    """Where the large file of a form goes while it comes. Raises when there is no room for it."""

    async def begin(self, most_bytes: int) -> Arrival:
        """Room for a file of at most so many bytes; 0: its length is not known."""
        ...

    async def grow(self, arrival: Arrival, size: int) -> None:
        """Room for so many bytes in all."""
        ...


async def read(
    request: web.Request, intake: Intake, encoding: Encoding, room: Room | None = None
) -> Mapping[str, object]:
    """The members; none of no body at all. `room`: for the large file of a form with parts.

    Raises InvalidRequest, UnsupportedMediaType, TooLarge, RequestTimeout, and what `room` raises.
    """
    pace = Pace(intake, request.content)
    if request.content_type == PARTS and PARTS in encoding.kinds:
        return await _of_parts(request, pace, encoding, room)
    text = await _text(request, pace)
    if not text:
        return {}
    if request.content_type not in encoding.kinds:
        raise UnsupportedMediaType(f"This address reads {', '.join(encoding.kinds)}.")
    if request.content_type == JSON:
        return checked(_of_json(text))
    return checked(_of_form(text, encoding.lists))


async def _text(request: web.Request, pace: Pace) -> bytes:
    text = bytearray()
    if not request.can_read_body:
        return b""
    while chunk := await pace.keep(request.content.readany()):
        text += chunk
        if len(text) > MOST_BYTES:
            raise TooLarge
    return bytes(text)


def discard(members: Mapping[str, object]) -> None:
    """Remove the files that were received, unless they have been moved away."""
    for member in members.values():
        if isinstance(member, Received):
            member.end()


def check_address(request: web.Request) -> None:
    """Refuse NUL characters in the path or the query: see `checked`."""
    if "%00" in request.raw_path:
        raise InvalidRequest("The address has a NUL character in it.")


def checked(members: Mapping[str, object]) -> Mapping[str, object]:
    """The members, if they have no NUL characters in them: PostgreSQL keeps none, and no text needs any."""
    if wrong := [str(name).replace("\0", "") for name, value in members.items() if _has_nul([name, value])]:
        raise InvalidRequest(
            errors=[FieldError(field=name, message="It has a NUL character in it.") for name in wrong]
        )
    return members


def _has_nul(value: object) -> bool:
    left = [value]
    while left:  # no recursion: what strangers send may be nested more deeply than Python's calls
        one = left.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, dict):
            left += (*one, *one.values())
        elif isinstance(one, list):
            left += one
    return False


def _of_json(text: bytes) -> Mapping[str, object]:
    try:
        members = orjson.loads(text)
    except ValueError:
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(members, dict):
        raise InvalidRequest("The body is no JSON object.")
    return members


def _of_form(text: bytes, lists: frozenset[str]) -> dict[str, object]:
    given = parse_qsl(text.decode(errors="replace"), keep_blank_values=True)
    members: dict[str, object] = dict(given)
    for name in lists & members.keys():
        members[name] = in_form([value for key, value in given if key == name])
    return members


def _check_declared(request: web.Request, encoding: Encoding, beside: int) -> None:
    """Refuse before it comes what would be too much: `beside` is the most that is not of the large file."""
    if encoding.large and (request.content_length or 0) - beside > encoding.most_large_bytes:
        raise TooLarge(f"No file may be larger than {encoding.most_large_bytes:,} bytes.")


async def _of_parts(
    request: web.Request, pace: Pace, encoding: Encoding, room: Room | None
) -> Mapping[str, object]:
    """The members; a large file has its room before the first byte of it is read."""
    if room is None:
        return await _members_of(request, pace, encoding, None)
    _check_declared(request, encoding, encoding.most_bytes + MOST_BYTES)
    arrival = await room.begin(min(request.content_length or 0, encoding.most_large_bytes))
    incoming = Incoming(arrival, room, encoding.most_large_bytes)
    try:
        members = await _members_of(request, pace, encoding, incoming)
    except BaseException:
        arrival.close()
        raise
    if not any(isinstance(member, Received) for member in members.values()):
        arrival.close()
    return members


async def _members_of(
    request: web.Request, pace: Pace, encoding: Encoding, incoming: "Incoming | None"
) -> Mapping[str, object]:
    """Large files as what was received, other files as bytes, everything else as text; repeated lists joined.

    What a part is, its name says: whoever sends it may call anything a file. What is in memory is no more,
    all together, than one file and the most of texts.
    """
    members: dict[str, object] = {}
    repeated: dict[str, list[str]] = {}
    left = encoding.most_bytes + MOST_BYTES
    async for name, part in _parts(request, pace):
        if name in members:
            raise InvalidRequest.of_field(name, "must be given once")
        if name in encoding.large and incoming is not None:
            members[name] = await incoming.receive(part, pace)
            continue
        is_file = name in encoding.small
        content = await _whole(part, min(left, encoding.most_bytes if is_file else MOST_BYTES), pace)
        left -= len(content)
        if name in encoding.lists:
            repeated.setdefault(name, []).append(content.decode(errors="replace"))
        else:
            members[name] = content if is_file else content.decode(errors="replace")
    return checked(members | {name: in_form(texts) for name, texts in repeated.items()})


async def _parts(request: web.Request, pace: Pace) -> AsyncIterator[tuple[str, BodyPartReader]]:
    """Each part with its name, MOST_PARTS at most."""
    with _well_formed():
        parts = await request.multipart()
    for number in itertools.count():
        with _well_formed():
            part = await pace.keep(parts.next())
            name = part.name if isinstance(part, BodyPartReader) else None
        if part is None:
            return
        if not isinstance(part, BodyPartReader) or name is None or number == MOST_PARTS:
            raise InvalidRequest(_NO_FORM)
        yield name, part


@contextmanager
def _well_formed() -> Iterator[None]:
    """Turn what the reader of multipart bodies raises into a refusal."""
    try:
        yield
    except _MALFORMED:
        raise InvalidRequest(_NO_FORM) from None


async def _whole(part: BodyPartReader, most_bytes: int, pace: Pace) -> bytes:
    return b"".join([chunk async for chunk in _chunks(part, most_bytes, pace)])


class Incoming(NamedTuple):
    """The large file of a form while it comes."""

    arrival: Arrival
    room: Room
    most_bytes: int

    async def receive(self, part: BodyPartReader, pace: Pace) -> Received:
        """Written as it comes, and hashed on the way."""
        arrival, digest, size = self.arrival, hashlib.sha256(), 0

        def write(chunk: bytes) -> None:
            digest.update(chunk)
            arrival.file.write(chunk)

        async for chunk in _chunks(part, self.most_bytes, pace):
            size += len(chunk)
            if size > arrival.reserved:
                await self.room.grow(arrival, size)
            await asyncio.to_thread(write, chunk)
        arrival.file.truncate(size)
        arrival.file.flush()
        return Received(arrival.path, size, digest.hexdigest(), arrival.close)


async def _chunks(part: BodyPartReader, most_bytes: int, pace: Pace) -> AsyncIterator[bytes]:
    """Pieces of some length: to write each of the network's small ones costs more than to collect them."""
    collected, size = bytearray(), 0
    while True:
        with _well_formed():
            chunk = await pace.keep(part.read_chunk(CHUNK_BYTES))
        if not chunk:
            break
        collected += chunk
        size += len(chunk)
        if size > most_bytes:
            raise TooLarge(f"{part.name} is larger than {most_bytes:,} bytes.")
        if len(collected) >= CHUNK_BYTES:
            yield bytes(collected)
            collected.clear()
    yield bytes(collected)
