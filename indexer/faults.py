"""Errors that no code foresaw, met while input from outside was judged: counted, logged, kept with the input.

Such an error is a fault of this program, and strangers choose when it happens. So it costs the one frame,
commit or record that it happened with, and never the process. Damage to our own store is another matter:
`is_fatal`.
"""

import traceback
from typing import Final

import duckdb
import structlog
from prometheus_client import Counter

from indexer.catalogue import StoreError

MAX_REASON: Final = 2000  # characters of a dead letter's reason; a traceback's end says most
MAX_KINDS: Final = 1000  # that are told apart in the log; more are only counted

FAULTS = Counter("fmsvc_faults_total", "Unexpected errors with input from outside, which is kept.", ["step"])

log = structlog.get_logger()

_logged: set[tuple[str, str, str]] = set()


def is_fatal(error: BaseException) -> bool:
    """Is this damage to our own store, a lack of memory, or an end that was asked for?"""
    ours = (StoreError, duckdb.Error, OSError, MemoryError)
    return isinstance(error, ours) or not (isinstance(error, Exception) or is_panic(error))


def is_panic(error: BaseException) -> bool:
    """Is it what libraries written in Rust raise when they give up? The exception has no class to name."""
    return type(error).__name__ == "PanicException"


def reason(step: str, error: BaseException) -> str:
    """Count and log it. Returns a dead letter's reason: a line that names the error, then its traceback."""
    FAULTS.labels(step).inc()
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    kind = step, type(error).__name__, where
    if kind not in _logged and len(_logged) < MAX_KINDS:
        _logged.add(kind)
        log.error("unexpected error with input from outside", step=step, exc_info=error)
    name = f"unexpected error ({step}): {type(error).__name__}: {error}".splitlines()[0][:200]
    told = "".join(traceback.format_tb(error.__traceback__))
    return f"{name}\n{told[-MAX_REASON:]}"
