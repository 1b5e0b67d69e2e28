"""A shell in a real terminal, that of tmux, which is typed into and looked at."""

import asyncio
import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS

_SIZE = ("-x", "250", "-y", "60")


@dataclass(slots=True)
class Terminal:
    """One command at a time is typed."""

    socket: Path
    typed: int = 0

    async def start(self, command: str) -> None:
        """Clear the screen, and type a command that prints its exit code at its end."""
        self.typed += 1
        await self.keys("-R")
        await self.keys("-l", f"{command}; echo exit-{self.typed}=$?")
        await self.keys("Enter")

    async def end(self) -> tuple[int, str]:
        """The exit code of the last command, and the screen."""
        found = await self.wait_for(rf"exit-{self.typed}=(\d+)$")
        return int(found[1]), found.string

    async def is_coloured(self) -> bool:
        """Does anything on the screen have a colour?"""
        screen = await self._tmux("capture-pane", "-p", "-J", "-e")
        return re.search(r"\x1b\[(?:\d+;)*[349][0-8]", screen) is not None

    async def run(self, command: str) -> tuple[int, str]:
        """Type a command, and wait for its end."""
        await self.start(command)
        return await self.end()

    async def keys(self, *keys: str) -> None:
        """Press keys by their names, or after `-l` type a text; `-R`: clear the screen."""
        await self._tmux("send-keys", *keys)

    async def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the screen shows this."""
        screen = ""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    screen = await self._tmux("capture-pane", "-p", "-J")
                    if found := re.search(pattern, screen, re.MULTILINE):
                        return found
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pytest.fail(f"no {pattern} on the screen:\n{screen}")

    async def _tmux(self, *words: str) -> str:
        return await tmux(self.socket, *words)


@asynccontextmanager
async def terminal(folder: Path, variables: Mapping[str, str]) -> AsyncIterator[Terminal]:
    """A terminal whose shell is in `folder`, with these variables and the test's own Python first in PATH."""
    if shutil.which("tmux") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no tmux is installed")
    ours = {**variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    shell = shlex.join(
        ["env", "-i", *(f"{name}={value}" for name, value in ours.items()), "TERM=screen", "sh"]
    )
    socket = folder / "tmux"
    await tmux(socket, "-u", "-f", os.devnull, "new-session", "-d", *_SIZE, "-c", str(folder), shell)
    try:
        yield Terminal(socket)
    finally:
        await tmux(socket, "kill-server")


async def tmux(socket: Path, *words: str) -> str:
    """Run tmux with a server of its own; what it prints."""
    process = await asyncio.create_subprocess_exec(
        "tmux", "-S", str(socket), *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    return printed.decode()
