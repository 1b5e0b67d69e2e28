"""A file on this machine, open to be sent."""

import os
import weakref
from pathlib import Path


class OpenFile:
    """Stays whole while it is open, whoever deletes or replaces it. Closed with the last that holds it."""

    def __init__(self, path: Path) -> None:
        """Raises FileNotFoundError."""
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.close = weakref.finalize(self, os.close, self.number)
        self.size = os.fstat(self.number).st_size

    def read(self, start: int, length: int) -> bytes:
        """At most so many bytes from there."""
        return os.pread(self.number, length, start)
