"""A port belongs to one service; its workers share it."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from readapi.processes.port import PortTaken, claim_port, listen_on_port
from schemas.settings import Settings
from tests.network.server import free_port


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, port=free_port())


def start(folder: Path, command: str, port: int) -> subprocess.Popen[str]:
    """A server with a folder of its own, following nothing."""
    variables = {
        "FMSVC_DATA_DIR": str(folder),
        "FMSVC_PORT": str(port),
        "FMSVC_RELAY": "ws://127.0.0.1:9",
        "FMSVC_PLC_URL": "http://127.0.0.1:9",
        "FMSVC_HANDLE_RESOLVER": "http://127.0.0.1:9",
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    return subprocess.Popen(
        [sys.executable, "-m", "readapi", command],
        env=clean | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_ended(*programs: subprocess.Popen[str], number: int) -> list[subprocess.Popen[str]]:
    """Those that have ended, as soon as they are so many."""
    deadline = time.monotonic() + 30
    while len(ended := [program for program in programs if program.poll() is not None]) < number:
        assert time.monotonic() < deadline, "none was refused"
        time.sleep(0.02)
    return ended


def test_workers_share_what_their_service_has_claimed(settings: Settings) -> None:
    """Another service is refused while they listen, and before."""
    with claim_port(settings):
        with pytest.raises(PortTaken, match=f"cannot listen on 127.0.0.1:{settings.port}: "):
            claim_port(settings, 0).__enter__()
        with listen_on_port(settings) as one, listen_on_port(settings) as two:
            one.listen()
            two.listen()


def test_a_port_is_refused_while_anything_listens_there(settings: Settings) -> None:
    """Workers of a service that was killed, too, unless they end within the patience; or another program."""
    with listen_on_port(settings) as orphan:
        orphan.listen()

        with pytest.raises(PortTaken, match="Address already in use"):
            claim_port(settings, 0.1).__enter__()

    with claim_port(settings, 0):
        pass


def test_a_worker_is_refused_a_port_that_another_program_holds(settings: Settings) -> None:
    """With a sentence that names it."""
    with (
        socket.create_server(("127.0.0.1", settings.port)),
        pytest.raises(PortTaken, match=f"cannot listen on 127.0.0.1:{settings.port}"),
    ):
        listen_on_port(settings)


@pytest.mark.slow
def test_of_two_services_that_start_together_one_is_refused(tmp_path: Path) -> None:
    """On folders of their own: with one sentence, and an exit code that is not zero."""
    port = free_port()
    programs = [start(tmp_path / name, name.split("-")[0], port) for name in ("serve-1", "serve-2")]
    try:
        refused = until_ended(*programs, number=1)

        for program in refused:
            assert program.stderr is not None
            said = program.stderr.read().strip().splitlines()
            assert said[-1] == f"fmsvc-server: cannot listen on 127.0.0.1:{port}: Address already in use"
            assert program.returncode == 1
        assert len(refused) == 1
    finally:
        for program in programs:
            program.kill()  # what it has started ends with it
            program.wait(20)
            assert program.stderr is not None
            program.stderr.close()
