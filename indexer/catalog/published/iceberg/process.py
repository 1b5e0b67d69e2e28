"""Runs the process that writes the Iceberg tables, after each export; one at a time."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO, Final

import orjson
import structlog

from indexer.faults import StoreError
from schemas.settings import Settings

RETRY_SECONDS: Final = 60.0  # after a run that failed
STOP_SECONDS: Final = 10.0
MESSAGE_CHARACTERS: Final = 300

log = structlog.get_logger()


class IcebergProcess:
    """Brings the tables to the wanted state. The next run completes one that was stopped."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_wanted = settings.iceberg
        self._place = {
            "data_dir": str(settings.data_dir.resolve()),
            "catalogue_url": settings.iceberg_catalog_url,
            "warehouse_url": settings.iceberg_url,
        }
        self._clock = clock
        self._next = clock()
        self._state = self._asked = self._done = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def want(self, state: int) -> None:
        """Request the state of this number, the newest export's."""
        self._state = state

    @property
    def is_due(self) -> bool:
        """True when the tables lack the state, no run is under way, and none has just failed."""
        lacks = self._is_wanted and self._state != self._done
        return lacks and self._process is None and self._clock() >= self._next

    @property
    def has_ended(self) -> bool:
        """True when a run has ended and `finish` has not been called."""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        """Start a run. It gets the addresses, which may contain passwords, on standard input."""
        self._asked = self._state
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - until the run has ended
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", __package__], stdin=subprocess.PIPE, stderr=self._said
        )
        assert self._process.stdin is not None
        with self._process.stdin as given:
            given.write(orjson.dumps(self._place))

    def finish(self) -> None:
        """Take note of a run that has ended. Raises StoreError with what it said, if it failed."""
        assert self._process is not None
        code, self._process = self._process.wait(), None
        said = self._read_said()
        if code == 0:
            self._done = self._asked
            log.info("iceberg tables follow the exports", state=self._done)
            return
        self._next = self._clock() + RETRY_SECONDS
        raise StoreError(said or f"its process ended with code {code}")

    def close(self) -> None:
        """Stop a run. What it has not committed goes with the next one."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
            self._read_said()

    def _read_said(self) -> str:
        """Read and close the run's stderr; returns the message of its last traceback, why it failed."""
        assert self._said is not None
        with self._said as said:
            said.seek(0)
            text = said.read().decode(errors="replace").rpartition("Traceback (most recent call last):\n")[2]
        reason = next((line for line in text.splitlines() if not line.startswith(" ")), "")
        return reason.partition(": ")[2][:MESSAGE_CHARACTERS]
