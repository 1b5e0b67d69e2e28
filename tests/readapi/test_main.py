"""The command line does what it says, and ends with a sentence and a code that tell how it went."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import duckdb
import pytest
import pytest_asyncio

from indexer.events import Frame
from indexer.stream.recording import Recorder
from schemas import data_folder
from schemas.search_index import VERSION, VERSION_FILE
from tests.documents import least
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork

pytestmark = pytest.mark.slow

NOBODY = "ws://127.0.0.1:9"  # the discard port: nothing listens there


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "readapi", *arguments],
        env=environment(folder, **settings),
        capture_output=True,
        text=True,
        timeout=120,
    )


async def replay(folder: Path, recording: Path, directory: ForgedNetwork) -> subprocess.CompletedProcess[str]:
    """While the directory answers."""
    known = {"FMSVC_PLC_URL": directory.url, "FMSVC_ALLOW_LOOPBACK": "true"}
    return await asyncio.to_thread(run, folder, "replay", str(recording), **known)


def environment(folder: Path, **settings: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    plc = {"FMSVC_PLC_URL": "http://127.0.0.1:9", "FMSVC_HANDLE_RESOLVER": "http://127.0.0.1:9"}
    return clean | plc | {"FMSVC_DATA_DIR": str(folder), "FMSVC_RELAY": NOBODY} | settings


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def directory() -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork() as network:
        yield network


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, directory: ForgedNetwork) -> Path:
    """Twenty tracks of one account, which the directory knows."""
    path = tmp_path_factory.mktemp("recording") / "frames"
    repo = ForgedRepo()
    directory.add(repo)
    with Recorder(path, "wss://relay.example") as recorder:
        for seq in range(1, 21):
            repo.create("fm.svc.track", least("track"))
            recorder.write(Frame("wss://relay.example", repo.commit_frame(seq), datetime.now(UTC)))
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replayed(
    tmp_path_factory: pytest.TempPathFactory, recording: Path, directory: ForgedNetwork
) -> Path:
    """The folder of an index that the recording was applied to."""
    folder = tmp_path_factory.mktemp("replayed") / "data"
    first = await replay(folder, recording, directory)
    assert first.returncode == 0, first.stderr
    assert "replaying: 20 frames" in first.stderr
    return folder


@pytest.fixture
def folder(tmp_path: Path, replayed: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(replayed, tmp_path / "data"))


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    """Told on standard output, and nothing else is done."""
    told = run(tmp_path / "data", "--version")

    assert (told.returncode, told.stdout) == (0, f"fmsvc-server {metadata.version('fmsvc-server')}\n")
    assert not (tmp_path / "data").exists()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_recording_is_replayed_checked_and_rebuilt(
    folder: Path, recording: Path, directory: ForgedNetwork
) -> None:
    """Replaying twice is replaying once; the rebuilt index holds what the first one did."""
    again = await replay(folder, recording, directory)
    checked = run(folder, "check")
    rebuilt = run(folder, "rebuild")

    assert again.returncode == 0, again.stderr
    assert checked.returncode == 0, checked.stdout
    assert "tracks: 20 rows" in checked.stdout
    assert "No problem found." in checked.stdout
    assert rebuilt.returncode == 0
    assert run(folder, "check").returncode == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_a_replay_publishes_nothing_that_is_taken_down(
    tmp_path: Path, recording: Path, directory: ForgedNetwork
) -> None:
    """Takedowns and labels that were decided before the index was made are in its first snapshot."""
    [account], folder = directory.repos, tmp_path / "data"
    taken = run(folder, "takedown", account, "--reason", "Spam.")

    replayed = await replay(folder, recording, directory)

    assert (taken.returncode, replayed.returncode) == (0, 0), taken.stderr + replayed.stderr
    with duckdb.connect(folder / data_folder.NEWEST_SNAPSHOT, read_only=True) as snapshot:
        shown = "select (select count(*) from tracks), (select count(*) from visible_tracks)"
        assert snapshot.execute(shown).fetchall() == [(20, 0)]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_replay_without_the_state_database_publishes_nothing(
    tmp_path: Path, recording: Path, directory: ForgedNetwork
) -> None:
    """It is told, and what was read is kept for the next run."""
    folder = tmp_path / "data"
    known = {"FMSVC_PLC_URL": directory.url, "FMSVC_ALLOW_LOOPBACK": "true"}
    away = {"FMSVC_STATE_URL": "postgresql://127.0.0.1:9/state"}

    replayed = await asyncio.to_thread(run, folder, "replay", str(recording), **known, **away)

    assert replayed.returncode == 0, replayed.stderr
    assert "not published" in replayed.stdout + replayed.stderr
    assert not (folder / data_folder.NEWEST_SNAPSHOT).exists()
    assert "tracks: 20 rows" in run(folder, "check").stdout


@pytest.mark.asyncio(loop_scope="module")
async def test_an_audit_finds_and_mends_what_was_lost(folder: Path, directory: ForgedNetwork) -> None:
    """Without an indexer running: the repo has gone on since the recording."""
    [repo] = directory.repos.values()
    repo.create("fm.svc.track", least("track"))
    repo.commit_frame(21)
    known = {
        "FMSVC_PLC_URL": directory.url,
        "FMSVC_ALLOW_LOOPBACK": "true",
        "FMSVC_DRIFT_SECONDS": "0.1",
    }

    first = await asyncio.to_thread(run, folder, "audit", **known)
    again = await asyncio.to_thread(run, folder, "audit", **known)

    assert first.stdout == "1 repos compared: 1 drifted.\n", first.stderr
    assert again.stdout == "1 repos compared: 1 same.\n", again.stderr
    assert "tracks: 21 rows" in run(folder, "check").stdout


def test_dead_letters_are_listed_shown_and_taken_in_again(tmp_path: Path) -> None:
    """One line each and a count; a name shows the whole; what still cannot be used stays."""
    folder, path = tmp_path / "data", tmp_path / "frames"
    with Recorder(path, "wss://relay.example") as recorder:
        recorder.write(Frame("wss://relay.example", b"nonsense", datetime(2025, 1, 1, tzinfo=UTC)))
    run(folder, "replay", str(path))

    listed = run(folder, "dead-letters", "--reason", "dag-cbor")
    line, count = listed.stdout.splitlines()
    shown = run(folder, "dead-letters", "--show", line.split()[0])
    nothing = run(folder, "dead-letters", "--show", "none")
    replayed = run(folder, "dead-letters", "--replay")

    source = "recording of wss://relay.example - -"
    assert line[10:] == f"  2025-01-01 00:00:00  {source}  8 bytes: the frame is not DAG-CBOR"
    assert count == "1 of 1 dead letters."
    assert "6e 6f 6e 73 65 6e 73 65" in shown.stdout
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert nothing.stderr == "fmsvc-server: There is no dead letter whose name begins with none.\n"
    assert replayed.stdout == "0 of 1 dead letters were replayed successfully and removed.\n"
    assert "replaying: 1 of 1 dead letters" in replayed.stderr
    assert run(folder, "dead-letters", "--did", "did:web:nobody.example").stdout == "0 of 0 dead letters.\n"


def test_verify_prints_each_check(tmp_path: Path) -> None:
    """One line each, those not made too; exit code 1, and no index comes of it."""
    verified = run(tmp_path / "data", "verify", "at://did:plc:abcdefghijklmnopqrstuvwx/fm.svc.track/self")
    lines = verified.stdout.splitlines()

    assert verified.returncode == 1
    assert lines[0] == "ok  address    at://did:plc:abcdefghijklmnopqrstuvwx/fm.svc.track/self"
    assert lines[1].startswith("NO  identity   did:plc:abcdefghijklmnopqrstuvwx cannot be resolved: ")
    assert lines[-1] == "-   lexicon    not checked"
    assert len(lines) == 11
    assert not (tmp_path / "data").exists()


def test_damage_is_told(folder: Path) -> None:
    """Exit code 3, a sentence that says what to do, and no traceback."""
    with (folder / data_folder.CATALOGUE).open("r+b") as file:
        file.write(b"\0" * 8192)

    checked = run(folder, "check")

    assert checked.returncode == 3
    assert f"move catalog.duckdb*, search and snapshots out of {folder} and start again" in checked.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize("command", ["api", "work"])
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, command: str) -> None:
    """One sentence that says which, and what to do."""
    (tmp_path / "file").write_bytes(b"")

    refused = run(tmp_path / "file" / "data", command)

    assert refused.returncode == 1
    assert "cannot be written (Not a directory); set FMSVC_DATA_DIR to a folder." in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_missing_search_index_is_told(folder: Path) -> None:
    """It is not silently begun anew: the catalogue no longer lists what it lacks."""
    shutil.rmtree(folder / data_folder.SEARCH)

    checked = run(folder, "check")

    assert checked.returncode == 3
    assert "fmsvc-server rebuild" in checked.stdout + checked.stderr


@pytest.mark.asyncio(loop_scope="module")
async def test_an_older_search_index_is_made_anew_by_the_indexer(
    folder: Path, recording: Path, directory: ForgedNetwork
) -> None:
    """`check` says so until an indexer has run."""
    for index in (folder / data_folder.SEARCH).iterdir():
        (index / VERSION_FILE).write_text(str(VERSION - 1))

    before = run(folder, "check")
    replayed = await replay(folder, recording, directory)
    after = run(folder, "check")

    assert before.returncode == 3
    assert "the indexer rebuilds it when it starts" in before.stdout + before.stderr
    assert replayed.returncode == 0, replayed.stderr
    assert (after.returncode, "No problem found." in after.stdout) == (0, True)


@pytest.mark.parametrize("name", ["missing", "folder", "other"])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, name: str) -> None:
    """Exit code 2 and one sentence."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").write_bytes(b"something else")

    refused = run(tmp_path / "data", "replay", str(tmp_path / name))

    assert refused.returncode == 2
    assert "\nfmsvc-server: " in "\n" + refused.stderr


def test_serve_without_a_relay_serves_and_stops_in_time(tmp_path: Path) -> None:
    """/ready says why it is behind; SIGTERM ends everything within five seconds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-m", "readapi", "serve"],
        env=environment(tmp_path / "data", FMSVC_PORT=str(port)),
        stderr=subprocess.DEVNULL,
    ) as serving:
        said = ""
        until = time.monotonic() + 60
        while "cannot connect" not in said.lower() and "refused" not in said.lower():
            assert time.monotonic() < until, said
            said = ask(port, "/ready") or said
            time.sleep(0.1)
        assert '"ready":false' in said
        assert ask(port, "/health") is not None

        serving.send_signal(signal.SIGTERM)
        started = time.monotonic()
        code = serving.wait(20)

    assert code == 0
    assert time.monotonic() - started < 6


def ask(port: int, path: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()
    except OSError:
        return None


@pytest.mark.parametrize("arguments", [("follow",), ("serve", "--follow")])
def test_a_machine_that_is_to_follow_is_told_what(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Otherwise it ends with a sentence."""
    done = run(tmp_path, *arguments)

    assert done.returncode == 2
    assert "FMSVC_PUBLISH_URL is not set" in done.stderr


def test_the_data_folder_of_an_indexer_follows_no_other(tmp_path: Path) -> None:
    """What it has is its own."""
    (tmp_path / "data" / data_folder.SEARCH).mkdir(parents=True)

    done = run(tmp_path / "data", "follow", FMSVC_PUBLISH_URL=f"file://{tmp_path}/objects")

    assert done.returncode == 3
    assert "has an index of its own" in done.stderr
