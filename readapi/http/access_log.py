"""One structured line per request, many written at once: alone, a line costs as much as its answer."""

import sys
import time
from datetime import UTC, datetime
from typing import IO, Any

import orjson
import structlog

from readapi import logs
from schemas.settings import Settings

_MOST_WAITING = 1000
_LINE = (
    b'{"request_id":"%b","method":"%b","path":%b,"status":%d,"milliseconds":%.2f,'
    b'"event":"request","program":"api","level":"info","timestamp":"%b.%06dZ"}\n'
)

log = structlog.get_logger()


# When it ended, in seconds since 1970; its id, method, path and status; how many seconds it took.
Line = tuple[float, str, str, str, int, float]


class AccessLog:
    """Collects lines until `flush`, in the format of the rest of the log."""

    def __init__(self, settings: Settings, stream: IO[str] | None = None) -> None:
        self._wanted = settings.log_level in ("debug", "info")
        self._for_people = stream is None and logs.is_console(settings)
        self._stream = stream or sys.stderr
        self._second, self._second_text = -1, b""
        self._waiting: list[Line] = []

    def add(self, request_id: str, method: str, path: str, status: int, seconds: float) -> None:
        """Buffer the line of one request."""
        if not self._wanted:
            return
        self._waiting.append((time.time(), request_id, method, path, status, seconds))
        if len(self._waiting) >= _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        if self._for_people:
            for line in waiting:
                log.info("request", **_fields(line))
        else:
            self._stream.write(b"".join([self._render(line) for line in waiting]).decode())
            self._stream.flush()

    def _render(self, line: Line) -> bytes:
        at, request_id, method, path, status, seconds = line
        second = int(at)
        if second != self._second:
            self._second = second
            self._second_text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        # The request id and the method are of letters, digits and dashes.
        return _LINE % (
            request_id.encode(),
            method.encode(),
            orjson.dumps(_printable(path[: logs.LONGEST_VALUE])),
            status,
            seconds * 1000,
            self._second_text,
            int((at - second) * 1_000_000),
        )


def _fields(line: Line) -> dict[str, Any]:
    _, request_id, method, path, status, seconds = line
    return {
        "request_id": request_id,
        "method": method,
        "path": _printable(path[: logs.LONGEST_VALUE]),
        "status": status,
        "milliseconds": round(seconds * 1000, 2),
    }


def _printable(path: str) -> str:
    """The path with lone surrogates replaced: they stand for bytes that are not UTF-8."""
    return path if path.isascii() else path.encode(errors="replace").decode()
