"""A request's body → the members of what a handler asks for: JSON, a form, or a form with files."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args
from urllib.parse import parse_qsl

import orjson
from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from readapi.answers import JSON
from readapi.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from schemas.api.shape import Asked, AskedInParts, AskedWithFile, Received
from schemas.errors import FieldError
from schemas.settings import Settings

MOST_BYTES = 256 << 10
MOST_PARTS = 64
CHUNK_BYTES = 1 << 20
RECEIVING = "receiving"  # the folder in the data folder
FORM: Final = "application/x-www-form-urlencoded"
PARTS: Final = "multipart/form-data"
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

Room = Callable[[int], None]  # raises when there is none for so many bytes of a large file


@dataclass(frozen=True, slots=True)
class Files:
    """Which members are files, and how long they may be. `large` ones go to a folder instead of memory."""

    small: frozenset[str]
    large: frozenset[str]
    most_bytes: int
    most_large_bytes: int
    folder: Path

    @classmethod
    def of(cls, settings: Settings, asked: type[AskedInParts]) -> "Files":
        """As the settings and the types of its members say."""
        kinds = _members(asked, bytes), _members(asked, Received)
        return cls(*kinds, settings.image_bytes, settings.upload_bytes, settings.data_dir / RECEIVING)


def kinds(asked: type[Asked]) -> tuple[str, ...]:
    """The media types in which something may be sent."""
    if issubclass(asked, AskedWithFile):
        return (PARTS,)
    return (JSON, FORM, PARTS) if issubclass(asked, AskedInParts) else (JSON, FORM)


async def read(
    request: web.Request, kinds: tuple[str, ...], files: Files | None = None, room: Room = lambda _: None
) -> Mapping[str, object]:
    """The members; none of no body at all. `files`: where forms with parts are among the kinds.

    Raises InvalidRequest, UnsupportedMediaType, TooLarge, and what `room` raises.
    """
    if request.content_type == PARTS and files is not None:
        return await _of_parts(request, files, room)
    text = await request.read()
    if not text:
        return {}
    if request.content_type not in kinds:
        raise UnsupportedMediaType(f"This address reads {', '.join(kinds)}.")
    if request.content_type == JSON:
        return checked(_of_json(text))
    return checked(dict(parse_qsl(text.decode(errors="replace"), keep_blank_values=True)))


def discard(members: Mapping[str, object]) -> None:
    """Remove the files that were received, unless they have been moved away."""
    for member in members.values():
        if isinstance(member, Received):
            member.path.unlink(missing_ok=True)


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


def _members(asked: type[AskedInParts], kind: type) -> frozenset[str]:
    return frozenset(name for name, field in asked.model_fields.items() if _allows(field.annotation, kind))


def _allows(annotation: object, kind: type) -> bool:
    return annotation is kind or any(_allows(part, kind) for part in get_args(annotation))


def _check_declared(request: web.Request, files: Files, beside: int, room: Room) -> None:
    """Refuse before it comes what would be too much: `beside` is the most that is not of the large file."""
    size = max(0, (request.content_length or 0) - beside)
    if files.large and size > files.most_large_bytes:
        raise TooLarge(f"No file may be larger than {files.most_large_bytes:,} bytes.")
    room(size)


async def _of_parts(request: web.Request, files: Files, room: Room) -> Mapping[str, object]:
    """Large files as what was received, other files as bytes, everything else as text.

    What a part is, its name says: whoever sends it may call anything a file. What is in memory is no more,
    all together, than one file and the most of texts.
    """
    members: dict[str, object] = {}
    left = files.most_bytes + MOST_BYTES
    _check_declared(request, files, left, room)
    try:
        with _well_formed():
            parts = await request.multipart()
        while True:
            with _well_formed():
                part = await parts.next()
                name = part.name if isinstance(part, BodyPartReader) else None
            if part is None:
                break
            if not isinstance(part, BodyPartReader) or name is None or len(members) == MOST_PARTS:
                raise InvalidRequest(_NO_FORM)
            if name in members:
                raise InvalidRequest.of_field(name, "must be given once")
            if name in files.large:
                members[name] = await _received(part, files, room)
                continue
            is_file = name in files.small
            content = await _whole(part, min(left, files.most_bytes if is_file else MOST_BYTES))
            members[name] = content if is_file else content.decode(errors="replace")
            left -= len(content)
        return checked(members)
    except BaseException:
        discard(members)
        raise


@contextmanager
def _well_formed() -> Iterator[None]:
    """Turn what the reader of multipart bodies raises into a refusal."""
    try:
        yield
    except _MALFORMED:
        raise InvalidRequest(_NO_FORM) from None


async def _whole(part: BodyPartReader, most_bytes: int) -> bytes:
    return b"".join([chunk async for chunk in _chunks(part, most_bytes)])


async def _received(part: BodyPartReader, files: Files, room: Room) -> Received:
    """Written as it comes, and hashed on the way."""
    files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path, digest, size = files.folder / secrets.token_hex(16), hashlib.sha256(), 0

    def write(chunk: bytes) -> None:
        digest.update(chunk)
        file.write(chunk)

    try:
        with path.open("xb") as file:
            async for chunk in _chunks(part, files.most_large_bytes):
                size += len(chunk)
                room(size)
                await asyncio.to_thread(write, chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Received(path, size, digest.hexdigest())


async def _chunks(part: BodyPartReader, most_bytes: int) -> AsyncIterator[bytes]:
    """Pieces of some length: to write each of the network's small ones costs more than to collect them."""
    collected, size = bytearray(), 0
    while True:
        with _well_formed():
            chunk = await part.read_chunk(CHUNK_BYTES)
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
