"""What a request asks of a file: a part of it, or nothing when it is known already. RFC 9110, 13 and 14."""

import re
from typing import NamedTuple, Self

from aiohttp import web

from readapi import navigation
from readapi.errors import RangeNotSatisfiable

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,20})-([0-9]{0,20})[ \t]*", re.IGNORECASE)


class Part(NamedTuple):
    """The bytes from `start` up to `stop`."""

    start: int
    stop: int


class Conditions:
    """One range is answered as a part; several, and what is none, with the whole, as servers may."""

    def __init__(
        self, range_: str = "", if_range: str = "", if_none_match: str = "", *, is_to_page: bool = False
    ) -> None:
        """`range_` of methods other than GET means nothing. `is_to_page`: a browser shows what comes."""
        self.is_to_page = is_to_page
        self._range = range_
        self._if_range = if_range.strip()
        self._if_none_match = if_none_match

    @classmethod
    def of(cls, request: web.Request) -> Self:
        """Those of a request."""
        sent = request.headers
        wanted = sent.get("Range", "") if request.method == "GET" else ""
        is_to_page = navigation.is_to_page(sent)
        return cls(wanted, sent.get("If-Range", ""), sent.get("If-None-Match", ""), is_to_page=is_to_page)

    def knows(self, etag: str) -> bool:
        """Whoever asks has it already."""
        tags = [tag.strip().removeprefix("W/") for tag in self._if_none_match.split(",")]
        return "*" in tags or etag in tags

    def part(self, size: int, etag: str) -> Part | None:
        """The part that is asked for; None: all of it. Raises RangeNotSatisfiable.

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


def _satisfiable(start: int, stop: int, size: int) -> Part:
    return Part(start, stop) if start < stop else _unsatisfiable(size)


def _unsatisfiable(size: int) -> Part:
    raise RangeNotSatisfiable(size)
