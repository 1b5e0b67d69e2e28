"""A request's body → the members of a handler's shape: JSON, a form, or a form with files."""

import itertools
from collections.abc import AsyncIterator, Mapping
from urllib.parse import parse_qsl

import orjson
from aiohttp import BodyPartReader, web

from readapi.answers import JSON
from readapi.errors import ApiError, InvalidRequest, RateLimited, TooLarge, UnsupportedMediaType
from readapi.http.limits.body_pace import BodyIntake, Pace
from readapi.http.request.encodings import PARTS, Encoding, read_form_list
from readapi.http.request.incoming_file import (
    NO_FORM,
    Incoming,
    NoRoom,
    Room,
    file_name,
    next_chunk,
    read_chunks,
    refuse_malformed,
)
from readapi.http.request.page_forms import DRAINED_BYTES, KEPT_BYTES, TEXT_TOO_LONG, LeftOut, file_too_large
from schemas.api.shape import Received
from schemas.errors import FieldError

MOST_BYTES = 256 << 10
MOST_PARTS = 64
MOST_FILES = 12  # large ones of one form; an account may have 16 files on their way


async def read_body(
    request: web.Request, intake: BodyIntake, encoding: Encoding, room: Room | None = None
) -> Mapping[str, object]:
    """The members; empty without a body. `room`: reserves disk space for a multipart form's large file.

    Raises InvalidRequest, UnsupportedMediaType, TooLarge, RequestTimeout, and what `room` raises.
    """
    pace = Pace(intake, request.content)
    if request.content_type == PARTS and PARTS in encoding.kinds:
        return await _read_parts(request, pace, encoding, room)
    text = await read_bytes(request, pace)
    if not text:
        return {}
    # Some programs send JSON and do not say so (RFC 9110, section 8.3, leaves it to the recipient).
    kind = request.content_type if "Content-Type" in request.headers else JSON
    if kind not in encoding.kinds:
        raise UnsupportedMediaType(f"This URL accepts {', '.join(encoding.kinds)}.")
    if kind == JSON:
        return check_members(_parse_json(text))
    return check_members(_parse_form(text, encoding.lists))


async def read_bytes(request: web.Request, pace: Pace) -> bytes:
    """The body as it was sent; empty without one. Raises TooLarge, RequestTimeout."""
    text = bytearray()
    if not request.can_read_body:
        return b""
    while chunk := await pace.keep(request.content.readany()):
        text += chunk
        if len(text) > MOST_BYTES:
            raise TooLarge
    return bytes(text)


def discard_files(members: Mapping[str, object]) -> None:
    """Delete the received files, unless they were moved away."""
    for member in members.values():
        for one in member if isinstance(member, list) else (member,):
            if isinstance(one, Received):
                one.end()


def check_address(request: web.Request) -> None:
    """Refuse NUL characters in the path or the query: see `checked`."""
    if "%00" in request.raw_path:
        raise InvalidRequest("The URL contains a NUL character.")


def check_members(members: Mapping[str, object]) -> Mapping[str, object]:
    """The members, refused when they contain NUL characters: PostgreSQL cannot store them."""
    if wrong := [str(name).replace("\0", "") for name, value in members.items() if _has_nul([name, value])]:
        raise InvalidRequest(
            errors=[FieldError(field=name, message="The value contains a NUL character.") for name in wrong]
        )
    return members


def _has_nul(value: object) -> bool:
    left = [value]
    while left:  # no recursion: hostile JSON may be nested more deeply than Python's stack
        one = left.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, dict):
            left += (*one, *one.values())
        elif isinstance(one, list):
            left += one
    return False


def _parse_json(text: bytes) -> Mapping[str, object]:
    try:
        members = orjson.loads(text)
    except ValueError:
        raise InvalidRequest("The body is not JSON.") from None
    if not isinstance(members, dict):
        raise InvalidRequest("The body is not a JSON object.")
    return members


def _parse_form(text: bytes, lists: frozenset[str]) -> dict[str, object]:
    given = parse_qsl(text.decode(errors="replace"), keep_blank_values=True)
    members: dict[str, object] = dict(given)
    for name in lists & members.keys():
        members[name] = read_form_list([value for key, value in given if key == name])
    return members


def _check_declared(request: web.Request, encoding: Encoding, beside: int) -> None:
    """Refuse a Content-Length over the limit early. `beside`: the most bytes besides the large file."""
    if encoding.large and (request.content_length or 0) - beside > encoding.most_large_bytes:
        raise TooLarge(f"No file may be larger than {encoding.most_large_bytes:,} bytes.")


async def _read_parts(
    request: web.Request, pace: Pace, encoding: Encoding, room: Room | None
) -> Mapping[str, object]:
    """The members; space for a large file is reserved before its first byte is read."""
    if room is None:
        return await _members_of(request, _Parts(pace, encoding, None))
    if encoding.several:
        return await _read_several(request, pace, encoding, room)
    drained = DRAINED_BYTES if encoding.of_page else 0
    _check_declared(request, encoding, encoding.most_bytes + MOST_BYTES + drained)
    incoming = await _incoming(encoding, room, request.content_length or 0)
    try:
        members = await _members_of(request, _Parts(pace, encoding, incoming))
    except BaseException:
        incoming.close()
        raise
    if not any(isinstance(member, Received) for member in members.values()):
        incoming.close()
    return members


async def _read_several(
    request: web.Request, pace: Pace, encoding: Encoding, room: Room
) -> Mapping[str, object]:
    """The members of a form with several large files, each with a reservation that grows with it."""
    parts = _SeveralFiles(pace, encoding, room)
    try:
        return {**await _members_of(request, parts), **dict.fromkeys(encoding.large, parts.files)}
    except BaseException:
        discard_files({"files": parts.files})
        raise


async def _incoming(encoding: Encoding, room: Room, size: int) -> Incoming | NoRoom:
    """A file of `size` bytes by what was declared; 0: its length is unknown."""
    try:
        reservation = await room.begin(min(size, encoding.most_large_bytes))
    except RateLimited as refusal:
        if not encoding.of_page:
            raise
        return NoRoom(refusal)
    return Incoming(reservation, room, encoding.most_large_bytes)


async def _members_of(request: web.Request, parts: "_Parts") -> Mapping[str, object]:
    """All parts by name; repeated lists joined."""
    members: dict[str, object] = {}
    repeated: dict[str, list[str]] = {}
    async for name, part in _named_parts(request, parts.pace):
        if name in members and not (parts.encoding.several and name in parts.encoding.large):
            raise InvalidRequest.of_field(name, "must be given once")
        member = await parts.read(name, part)
        if name in parts.encoding.lists and isinstance(member, str):
            repeated.setdefault(name, []).append(member)
        else:
            members[name] = member
    return check_members(members | {name: read_form_list(texts) for name, texts in repeated.items()})


async def _named_parts(request: web.Request, pace: Pace) -> AsyncIterator[tuple[str, BodyPartReader]]:
    """Each part with its name, at most MOST_PARTS."""
    with refuse_malformed():
        parts = await request.multipart()
    for number in itertools.count():
        with refuse_malformed():
            part = await pace.keep(parts.next())
            name = part.name if isinstance(part, BodyPartReader) else None
        if part is None:
            return
        if not isinstance(part, BodyPartReader) or name is None or number == MOST_PARTS:
            raise InvalidRequest(NO_FORM)
        yield name, part


class _Parts:
    """Reads the parts of one form. At most one small file and the texts are in memory at once."""

    def __init__(self, pace: Pace, encoding: Encoding, incoming: Incoming | NoRoom | None) -> None:
        self.pace = pace
        self.encoding = encoding
        self._incoming = incoming
        self._left = encoding.most_bytes + MOST_BYTES
        self._left_to_drain = DRAINED_BYTES

    async def read(self, name: str, part: BodyPartReader) -> object:
        """A large file as Received, other files as bytes, everything else as text.

        The part's name decides which, not its Content-Disposition: a client may call anything a file. In a
        page's form, a part over a limit is left out; elsewhere it is refused.
        """
        if name in self.encoding.large and self._incoming is not None:
            return await self._received(part, self._incoming)
        is_file = name in self.encoding.small
        content = bytearray()
        most = self.encoding.most_bytes if is_file else MOST_BYTES
        try:
            async for chunk in read_chunks(part, min(self._left, most), self.pace):
                content += chunk
        except TooLarge as refusal:
            if is_file:
                return await self._left_out(part, refusal, file_too_large(most))
            kept = content[:KEPT_BYTES].decode(errors="ignore").replace("\0", "")
            self._left -= len(kept.encode())
            return await self._left_out(part, refusal, TEXT_TOO_LONG, kept)
        self._left -= len(content)
        return bytes(content) if is_file else content.decode(errors="replace")

    async def _received(self, part: BodyPartReader, incoming: Incoming | NoRoom) -> Received | LeftOut:
        try:
            return await incoming.receive(part, self.pace)
        except (TooLarge, RateLimited) as refusal:
            incoming.close()
            return await self._left_out(part, refusal, file_too_large(self.encoding.most_large_bytes))

    async def _left_out(
        self, part: BodyPartReader, refusal: ApiError, sentence: str, kept: str | None = None
    ) -> LeftOut:
        """Skip to the next part. `sentence`: the message for a part that is too large.

        Raises the refusal where no page shows the form again, or where the rest is too long to skip.
        """
        if not self.encoding.of_page:
            raise refusal
        error = TooLarge(sentence) if isinstance(refusal, TooLarge) else refusal
        while chunk := await next_chunk(part, self.pace):
            self._left_to_drain -= len(chunk)
            if self._left_to_drain < 0:
                raise error
        return LeftOut(error, kept, file_name(part))


class _SeveralFiles(_Parts):
    """Reads a form with a list of large files into `files`, in their order.

    A file that was refused is in the list as LeftOut; a field without a chosen file adds nothing.
    """

    def __init__(self, pace: Pace, encoding: Encoding, room: Room) -> None:
        super().__init__(pace, encoding, None)
        self.files: list[Received | LeftOut] = []
        self._room = room

    async def read(self, name: str, part: BodyPartReader) -> object:
        """As for `_Parts`, but large files are added to the list."""
        if name not in self.encoding.large:
            return await super().read(name, part)
        if len(self.files) == MOST_FILES:
            raise TooLarge(f"A form can have at most {MOST_FILES} files.")
        incoming = await _incoming(self.encoding, self._room, 0)
        try:
            member = await self._received(part, incoming)
        except BaseException:
            incoming.close()
            raise
        if isinstance(member, LeftOut) or member.bytes or member.file_name:
            self.files.append(member)
        else:
            member.end()
        return None
