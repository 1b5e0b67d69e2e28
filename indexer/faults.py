"""Unexpected errors while processing input from outside: counted, logged, and kept with the input.

Such an error is a bug of this program, and other servers choose when it occurs. So it costs the one frame,
commit or record that it occurred with, and never the process. Damage to our own store ends the process:
`is_fatal`.
"""

import traceback
from typing import Final

import duckdb
import structlog
from prometheus_client import Counter

MAX_REASON: Final = 2000  # characters of a dead letter's reason; a traceback's end says most
MAX_KINDS: Final = 1000  # kinds of error that are logged; more are only counted

FAULTS = Counter("fmsvc_faults_total", "Unexpected errors with input from outside, which is kept.", ["step"])

log = structlog.get_logger()

_logged: set[tuple[str, str, str]] = set()


def is_fatal(error: BaseException) -> bool:
    """True for damage to our own store, a lack of memory, a cancellation, or a requested exit."""
    ours = (StoreError, duckdb.Error, OSError, MemoryError)
    return isinstance(error, ours) or not (isinstance(error, Exception) or is_panic(error))


def is_panic(error: BaseException) -> bool:
    """True for the panic of a library written in Rust, an exception whose class cannot be imported."""
    return type(error).__name__ == "PanicException"


def record_fault(step: str, error: BaseException) -> str:
    """Count and log an error. Returns a dead letter's reason: a line that names it, then the traceback."""
    FAULTS.labels(step).inc()
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    kind = step, type(error).__name__, where
    if kind not in _logged and len(_logged) < MAX_KINDS:
        _logged.add(kind)
        log.error("unexpected error with input from outside", step=step, exc_info=error)
    name = f"unexpected error ({step}): {type(error).__name__}: {error}".splitlines()[0][:200]
    trace = "".join(traceback.format_tb(error.__traceback__))
    return f"{name}\n{trace[-MAX_REASON:]}"


class StoreError(Exception):
    """The catalogue or the search index cannot be used. The message says why, and what to do."""
