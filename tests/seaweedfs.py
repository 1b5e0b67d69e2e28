"""A SeaweedFS server on loopback, a real distributed S3, from the binary of a pip package."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.network.server import free_port

START_SECONDS = 60.0
BUCKET = "fmsvc"
KEYS = "access_key_id=test&secret_access_key=test"


@contextmanager
def running_seaweedfs(folder: Path) -> Iterator[str]:
    """Start a server with nothing in it; yields the address of its S3."""
    port = free_port()
    ports = {
        "master.port": free_port(),
        "master.port.grpc": free_port(),
        "volume.port": free_port(),
        "volume.port.grpc": free_port(),
        "filer.port": free_port(),
        "filer.port.grpc": free_port(),
        "s3.port": port,
        "s3.port.grpc": free_port(),
    }
    options = [f"-{name}={number}" for name, number in ports.items()]
    options += [
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=20",
        "-master.telemetry=false",
    ]
    command = [Path(sys.executable).with_name("weed"), "server", f"-dir={folder}", "-ip=127.0.0.1"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([*command, "-filer", "-s3", *options], stdout=log, stderr=log, cwd=folder) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_it_stores(server, address, folder / "log")
            yield address
        finally:
            server.kill()  # nothing in it is wanted any more


def prefix_url(address: str, prefix: str) -> str:
    """A prefix of the bucket, as the setting takes it. Each bucket more would take volumes of its own."""
    return f"s3://{BUCKET}/{prefix}?region=us-east-1&endpoint={address}&{KEYS}"


def _wait_until_it_stores(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """S3 listens before there is a volume to write to."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            for path, body in ((f"/{BUCKET}", None), (f"/{BUCKET}/object", b"x")):
                urllib.request.urlopen(urllib.request.Request(address + path, body, method="PUT")).close()
        except (urllib.error.URLError, ConnectionError):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        else:
            return
