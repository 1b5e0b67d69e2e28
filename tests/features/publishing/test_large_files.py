"""The longest files pass through in pieces: the memory of no process grows with them.

FMSVC_TEST_UPLOAD_BYTES sets how long the file is (64 MiB; 1 GiB in CI).
"""

import hashlib
import json
import os
import struct
from pathlib import Path

import pytest

from tests.network.testnet import Testnet
from tests.readapi.studio import open_studio, template

SIZE = int(os.environ.get("FMSVC_TEST_UPLOAD_BYTES", str(64 << 20)))
MOST_BYTES = 300 << 20  # of one process, whatever it holds
MOST_GROWTH = max(24 << 20, SIZE // 8)
CHUNK_BYTES = 1 << 20

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(900)]


def wave(path: Path) -> Path:
    """Silence of 16 bits at 48 kHz, in stereo; the disk holds hardly any of it."""
    rate, channels, width = 48_000, 2, 2
    told = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * width, channels * width, width * 8)
    with path.open("wb") as file:
        file.write(b"RIFF" + struct.pack("<I", SIZE - 8) + b"WAVEfmt " + struct.pack("<I", len(told)) + told)
        file.write(b"data" + struct.pack("<I", SIZE - 44))
        file.truncate(SIZE)
    return path


def peaks(parent: int) -> dict[str, int]:
    """The most memory that each program of a service ever had, in bytes."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            of_parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            words = (folder / "cmdline").read_bytes().split(b"\0")
            peak = (folder / "status").read_text().partition("VmHWM:")[2].split()[0]
        except (OSError, ValueError, IndexError):
            continue
        if of_parent and b"readapi" in words:
            found[words[words.index(b"readapi") + 1].decode()] = int(peak) << 10
    return found


async def test_memory_does_not_grow_with_the_file(net: Testnet, tmp_path: Path) -> None:
    """Neither the API's nor the job worker's, on the way in and on the way out; every byte is there."""
    async with open_studio(net, tmp_path / "data") as studio:
        mara = await studio.artist()
        before = peaks(studio.pid)
        file = wave(tmp_path / "long.wav")

        track = await mara.publish(file, publishing=json.dumps(template("owner", "off", "unlisted")))
        digest, size = hashlib.sha256(), 0
        headers = {"Authorization": f"Bearer {mara.session}"}
        url = f"{studio.door.address}/tracks/{track['id']}/download"
        async with studio.door.client.get(url, headers=headers) as answer:
            assert answer.status == 200
            async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)

        after = peaks(studio.pid)
        assert (size, digest.hexdigest()) == (SIZE, track["file_id"])
        assert before.keys() == after.keys() == {"api", "index", "snapshots", "work"}
        for program in ("api", "work"):
            print(f"{program}: {before[program] >> 20} MiB before, {after[program] >> 20} MiB at most")
            assert after[program] < MOST_BYTES
            assert after[program] - before[program] < MOST_GROWTH
