"""A real S3 server on loopback: moto's, in a process of its own."""

import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import DEVNULL, Popen

from tests.network.server import free_port

WAIT_SECONDS = 30.0


@contextmanager
def running_s3() -> Iterator[str]:
    """The server's address."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": str(1 << 20), "PYTHONWARNINGS": "ignore"}
    server = Popen(command, stdout=DEVNULL, stderr=DEVNULL, env=environment)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def bucket_url(address: str, bucket: str) -> str:
    """Make a bucket; the address of it as the setting takes it."""
    making = urllib.request.Request(f"{address}/{bucket}", method="PUT")
    urllib.request.urlopen(making).close()
    keys = "access_key_id=test&secret_access_key=test"
    return f"s3://{bucket}/music?region=us-east-1&endpoint={address}&{keys}"


def _wait_for(address: str) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{address}/moto-api/").close()
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
