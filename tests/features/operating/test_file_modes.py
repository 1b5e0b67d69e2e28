"""What lies in the data folder is for the user that runs the service, whatever the umask is outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readapi.audio.sounds import own_sound
from tests.readapi.studio import Studio, template

OTHERS = 0o077


def open_to_others(folder: Path) -> list[str]:
    """The files and folders that the group or others may read, write or enter."""
    found = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    return sorted(str(path.relative_to(folder)) for path in found if _mode(path) & OTHERS)


def _mode(path: Path) -> int:
    """The mode of a file, which a running service may have removed since it was listed."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return 0


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_no_process_of_the_service_writes_for_others(studio: Studio, tmp_path: Path) -> None:
    """Indexer, API, job worker and the processes that they start: database, index, sockets, audio."""
    mara = await studio.artist()
    await mara.publish(own_sound(tmp_path), publishing=json.dumps(template("public", "off")))

    assert open_to_others(studio.data_dir) == []


@pytest.mark.slow
def test_a_command_closes_a_folder_that_was_open(tmp_path: Path) -> None:
    """As older versions left it; and without the help of the umask that it is started with."""
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    environment = {"PATH": os.defpath, "FMSVC_DATA_DIR": str(folder)}

    subprocess.run(
        [sys.executable, "-m", "readapi", "migrate"],
        env=environment,
        umask=0,
        check=True,
        capture_output=True,
    )

    assert (folder / "state" / "state.db").exists()
    assert open_to_others(folder) == []
