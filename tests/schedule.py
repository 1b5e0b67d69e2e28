"""Which process runs which test file: some share one because they need a browser or the whole service."""

import functools
import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests of pages in a browser"
SERVICE = "tests of the whole service"
CLIENT = "tests of the client against the whole service"
_ASKING = r"(?:fixture.*\n(?:async )?def \w+|def test_\w+)\([^)]*\b{}[:,)]"


@functools.cache
def group(file: Path) -> str | None:
    """The group of a file with a test or a fixture that asks for the browser or the studio.

    Either takes seconds to start and goes on until the end of the run: five programs that idle cost a process
    of tests a tenth of its time. All of these files in one process would run longer than the others do:
    the client's have one of their own.
    """
    text = file.read_text() if file.exists() else ""
    if _asks(text, "chromium"):
        return BROWSER
    if not _asks(text, "studio"):
        return None
    return CLIENT if "fmsvc" in file.parts else SERVICE


def is_over(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Whether the group of a test ends with it, so that what it shares need not go on until the run's end."""
    ending = group(item.path)
    return ending is not None and (following is None or group(following.path) != ending)


def _asks(text: str, fixture: str) -> bool:
    return re.search(_ASKING.format(fixture), text) is not None


class Schedule(LoadFileScheduling):
    """A file goes to whichever process is free next; the files of a group go to one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return group(self.config.rootpath / file) or file
