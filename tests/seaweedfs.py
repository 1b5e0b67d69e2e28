"""A SeaweedFS server on loopback, a real distributed S3, from the binary of a pip package."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.network.server import free_port

START_SECONDS = 60.0
BUCKET = "fmsvc"
KEYS = "access_key_id=test&secret_access_key=test"


@contextmanager
def running_seaweedfs(folder: Path) -> Iterator[str]:
    """Start a server with nothing in it; yields the address of its S3."""
    with _server(folder, free_port(), free_port(), "000") as (address, server):
        _wait_until_it_stores(server, address, folder / "log")
        yield address


@contextmanager
def running_replicated_seaweedfs(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start three volume servers, two of which have each object; yields the address, and one of them."""
    master, master_grpc = free_port(), free_port()
    with ExitStack() as stack:
        address, server = stack.enter_context(_server(folder, master, master_grpc, "001"))
        more = [
            stack.enter_context(_volume_server(folder / name, f"127.0.0.1:{master}.{master_grpc}"))
            for name in ("second", "third")
        ]
        _wait_until_it_stores(server, address, folder / "log")
        yield address, more[0]


@contextmanager
def _server(
    folder: Path, master: int, master_grpc: int, replication: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    ports = {
        "master.port": master,
        "master.port.grpc": master_grpc,
        "volume.port": free_port(),
        "volume.port.grpc": free_port(),
        "filer.port": free_port(),
        "filer.port.grpc": free_port(),
        "s3.port": port,
        "s3.port.grpc": free_port(),
    }
    options = [f"-{name}={number}" for name, number in ports.items()]
    options += [
        "-filer",
        "-s3",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        f"-master.defaultReplication={replication}",
        "-volume.max=20",
        "-master.telemetry=false",
    ]
    with _weed("server", folder, options) as server:
        yield f"http://127.0.0.1:{port}", server


@contextmanager
def _volume_server(folder: Path, master: str) -> Iterator[subprocess.Popen[bytes]]:
    folder.mkdir()
    options = [f"-mserver={master}", f"-port={free_port()}", f"-port.grpc={free_port()}", "-max=20"]
    with _weed("volume", folder, options) as server:
        yield server


@contextmanager
def _weed(command: str, folder: Path, options: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    program = Path(sys.executable).with_name("weed")
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [program, command, f"-dir={folder}", "-ip=127.0.0.1", *options],
            stdout=log,
            stderr=log,
            cwd=folder,
        ) as server,
    ):
        try:
            yield server
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
