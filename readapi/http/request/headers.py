"""Typed request headers: Accept, Last-Event-ID, Idempotency-Key, Range, If-None-Match; browser navigation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self

from aiohttp import web

from readapi.answers import JSON
from readapi.errors import InvalidRequest, RangeNotSatisfiable

VARIES = ("Accept", "Sec-Fetch-Dest", "Sec-Fetch-Mode")  # the headers that `is_to_page` reads
_SHOWN = frozenset({"document", "embed", "fencedframe", "frame", "iframe", "object"})
_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,20})-([0-9]{0,20})[ \t]*", re.IGNORECASE)

# For answers that depend on Accept, which are therefore not cached here.
BY_ACCEPT: Mapping[str, str] = MappingProxyType({"Vary": "Accept"})


@dataclass(frozen=True, slots=True)
class Accept:
    """The Accept header; empty when absent."""

    header: str

    def prefers(self, wanted: str, otherwise: str) -> bool:
        """True when the header ranks `wanted` above `otherwise`. Wildcards do not count."""
        weights = {wanted: 0.0, otherwise: 0.0}
        for part in self.header.split(","):
            media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
            if media_type in weights:
                weights[media_type] = _weight(parameters)
        return weights[wanted] > weights[otherwise]


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def prefers_page(accept: str) -> bool:
    """True when an Accept header ranks HTML above JSON, as browsers' do."""
    return Accept(accept).prefers("text/html", JSON)


class LastEventId(str):
    """Last-Event-ID: the last event of a stream that the client has received; empty when absent."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """The id as a number: those of uploads are version numbers."""
        return int(self) if self.isascii() and self.isdecimal() and len(self) < 10 else 0

    @property
    def position(self) -> int | None:
        """The id as a position in the log of changes; None when it is none."""
        return int(self) if self.isascii() and self.isdecimal() and len(self) < 19 else None


class IdempotencyKey(str):
    """Idempotency-Key: the client's name for a request that it may repeat; empty when absent.

    https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header
    """

    __slots__ = ()

    MOST_LETTERS: ClassVar = 255

    @classmethod
    def of(cls, request: web.Request) -> Self:
        """The header. Raises InvalidRequest when it is too long."""
        key = cls(request.headers.get("Idempotency-Key", ""))
        if len(key) > cls.MOST_LETTERS:
            raise InvalidRequest.of_field("Idempotency-Key", f"has {cls.MOST_LETTERS} letters at most")
        return key


class ByteRange(NamedTuple):
    """A byte range: from `start` up to, not including, `stop`."""

    start: int
    stop: int


class Conditions:
    """Range, If-Range, If-None-Match. Several ranges, or a malformed one, get the whole (RFC 9110)."""

    def __init__(
        self, range_: str = "", if_range: str = "", if_none_match: str = "", *, is_to_page: bool = False
    ) -> None:
        """`range_` is ignored for methods other than GET. `is_to_page`: a browser navigates to the file."""
        self.is_to_page = is_to_page
        self._range = range_
        self._if_range = if_range.strip()
        self._if_none_match = if_none_match

    @classmethod
    def of(cls, request: web.Request) -> Self:
        """Read them from a request."""
        sent = request.headers
        wanted = sent.get("Range", "") if request.method == "GET" else ""
        shown_as_page = is_to_page(sent)
        return cls(wanted, sent.get("If-Range", ""), sent.get("If-None-Match", ""), is_to_page=shown_as_page)

    def knows(self, etag: str) -> bool:
        """Whether If-None-Match holds this ETag: the client has the current version."""
        tags = [tag.strip().removeprefix("W/") for tag in self._if_none_match.split(",")]
        return "*" in tags or etag in tags

    def part(self, size: int, etag: str) -> ByteRange | None:
        """The requested part; None: the whole. Raises RangeNotSatisfiable.

        Dates in If-Range match nothing: files have no dates here, only hashes.
        """
        asked = _ONE_RANGE.fullmatch(self._range)
        if asked is None or (self._if_range and self._if_range != etag):
            return None
        first, last = asked[1], asked[2]
        if not first and not last:
            return None
        if not first:
            return _satisfiable(max(size - int(last), 0), size, size) if int(last) else _unsatisfiable(size)
        if last and int(last) < int(first):
            return None
        return _satisfiable(int(first), min(int(last) + 1, size) if last else size, size)


def _satisfiable(start: int, stop: int, size: int) -> ByteRange:
    return ByteRange(start, stop) if start < stop else _unsatisfiable(size)


def _unsatisfiable(size: int) -> ByteRange:
    raise RangeNotSatisfiable(size)


def is_to_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser navigates to a page: by Sec-Fetch headers; for older browsers, by asking for HTML."""
    mode, shown_as = headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")
    if mode is None and shown_as is None:
        return Accept(headers.get("Accept", "")).prefers("text/html", "audio/*")
    return mode == "navigate" or shown_as in _SHOWN
