"""Which process runs which test file: those that need the whole service or a browser share one."""

import functools
import re
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SHARED = "tests of the whole service and of pages in a browser"
_ASKING = re.compile(r"(?:fixture.*\n(?:async )?def \w+|def test_\w+)\([^)]*\b(?:studio|chromium)[:,)]")


@functools.cache
def needs_much(file: Path) -> bool:
    """Does a test or a fixture of this file ask for the studio or the browser?

    Either takes seconds to start and goes on until the end of the run: five programs that idle cost a process
    of tests a tenth of its time.
    """
    return file.exists() and _ASKING.search(file.read_text()) is not None


class Schedule(LoadFileScheduling):
    """A file goes to whichever process is free next; all that need much go to one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return SHARED if needs_much(self.config.rootpath / file) else file
