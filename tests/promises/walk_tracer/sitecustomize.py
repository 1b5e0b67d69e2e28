"""Traces each process that starts with this folder in PYTHONPATH: Python imports this module by its name.

It writes a line for each file of the project and each tenth of a second in which a function of it is called:
nanoseconds of the monotonic clock, the program of `python -m readapi`, the file.
"""

import os
import sys
import threading
import time
from types import FrameType

ROOT = os.environ["WALK_ROOT"]
TENTH = 100_000_000  # nanoseconds
PACKAGES = tuple(f"{ROOT}/{name}/" for name in ("indexer", "readapi", "schemas"))


def trace(written: int, program: str) -> None:
    """Watch every thread from here on."""
    last: dict[str, int] = {}

    def called(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGES):
            now = time.monotonic_ns()
            if now - last.get(name, 0) >= TENTH:
                last[name] = now
                os.write(written, f"{now} {program} {name[len(ROOT) + 1 :]}\n".encode())

    threading.setprofile(called)
    sys.setprofile(called)


if sys.orig_argv[1:3] == ["-m", "readapi"]:
    output = os.open(os.environ["WALK_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    trace(output, sys.orig_argv[3])
