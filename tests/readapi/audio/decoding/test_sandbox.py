"""Code that a stranger's file brings to run finds nothing to read, nobody to tell and nothing to start."""

import asyncio
import json
import os
import sys
from pathlib import Path

from readapi.audio.decoding import transcode
from tests.network import media

# Each is what such code would do; what it answers is the name of the error, or none.
ATTEMPTS = """
import json, os, pathlib, resource, socket, sys
from readapi.audio.decoding import sandbox as jail

folder, parent = pathlib.Path(sys.argv[1]), sys.argv[2]
target = os.open(folder / "target", os.O_RDWR | os.O_CREAT)
missing = jail.enter_sandbox(target)

def fork():
    if os.fork() == 0:
        os._exit(0)

attempts = {
    "secret": lambda: (folder / "secret.key").read_bytes(),
    "environment": lambda: pathlib.Path(f"/proc/{parent}/environ").read_bytes(),
    "memory": lambda: open(f"/proc/{parent}/mem", "rb"),
    "password": lambda: open("/etc/passwd").read(),
    "list": lambda: os.listdir(folder),
    "write": lambda: (folder / "elsewhere").write_bytes(b""),
    "link": lambda: os.symlink("/", folder / "link"),
    "remove": lambda: os.unlink(folder / "secret.key"),
    "internet": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "local": lambda: socket.socket(socket.AF_UNIX),
    "fork": fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(int(parent), 0),
    "rights": lambda: os.chmod(folder / "secret.key", 0o666),
    "truncate": lambda: os.truncate(folder / "secret.key", 0),
    "time": lambda: os.utime(folder / "secret.key", (1, 1)),
    "limits": lambda: resource.prlimit(int(parent), resource.RLIMIT_NOFILE, (9, 9)),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, int(parent), 19),
    "itself": lambda: os.kill(os.getpid(), 0),
    "target": lambda: open(f"/proc/self/fd/{target}", "r+b").write(b"sound"),
}
found = {}
for name, attempt in attempts.items():
    try:
        attempt()
        found[name] = None
    except OSError as error:
        found[name] = type(error).__name__
print(json.dumps({"missing": missing, "found": found, "user": os.getuid(), "variables": list(os.environ)}))
"""
FILES = ("secret", "environment", "memory", "password", "list", "write", "link", "remove")
CALLS = ("internet", "local", "fork", "exec", "signal", "rights", "truncate", "time", "limits", "priority")


async def test_what_a_jailed_process_can_still_do(tmp_path: Path) -> None:
    """Each layer that this machine offers refuses what it is for; the file that is made can be written."""
    (tmp_path / "secret.key").write_bytes(b"secret")

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ATTEMPTS, str(tmp_path), str(os.getpid())),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    told = json.loads(said)
    found = told["found"]

    if "landlock" not in told["missing"]:
        assert {name: found[name] for name in FILES} == dict.fromkeys(FILES, "PermissionError")
    if "seccomp" not in told["missing"]:
        assert {name: found[name] for name in CALLS} == dict.fromkeys(CALLS, "PermissionError")
    if os.geteuid() == 0 and "user" not in told["missing"]:
        assert told["user"] != 0
        assert found["signal"] == "PermissionError"
    assert found["itself"] is None
    assert found["target"] is None
    assert (tmp_path / "target").read_bytes() == b"sound"
    assert (tmp_path / "secret.key").exists()


async def test_what_a_machine_does_not_offer_is_told() -> None:
    """To be logged when the job worker starts."""
    missing = await transcode.missing_limits()

    assert set(missing) <= {"user", "landlock", "seccomp"}


async def test_the_process_that_reads_a_file_is_jailed(tmp_path: Path) -> None:
    """It is as poor while it reads: it has no variables of ours, and is not root."""
    (tmp_path / "long.ogg").write_bytes(media.tiny_packets(7_000, spread=True))
    reading = asyncio.create_task(transcode.examine_file(tmp_path / "long.ogg"))
    try:
        status = await _status(tmp_path)
        assert status["NoNewPrivs"] == "1"
        assert "seccomp" in await transcode.missing_limits() or status["Seccomp"] == "2"
        assert status["Uid"].split()[0] != "0"
        assert status["variables"] == "PATH"
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _status(folder: Path) -> dict[str, str]:
    """What the system says of the process that reads a file of this folder, once it is jailed."""
    async with asyncio.timeout(20):
        while True:
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if str(folder) not in (process / "cmdline").read_text():
                        continue
                    lines = (process / "status").read_text().splitlines()
                    told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                    variables = (process / "environ").read_text().rstrip("\0").split("\0")
                except OSError:
                    continue
                if told["NoNewPrivs"] == "1" and told["Threads"] != "1":
                    return told | {"variables": " ".join(one.partition("=")[0] for one in variables)}
            await asyncio.sleep(0.01)
