"""The command line as a process of its own, with a folder of its own instead of the user's."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.patience import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands against the service at `api_url`."""

    home: Path
    api_url: str
    variables: dict[str, str] = field(default_factory=dict)

    async def start(
        self, *arguments: str, interrupts: signal.Handlers = signal.SIG_DFL
    ) -> asyncio.subprocess.Process:
        """Start `fmsvc` with pipes, and SIGINT as in a terminal: programs in the background ignore it."""
        program = (sys.executable, "-m", "fmsvc", *arguments)
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *program,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=self.environment(),
            preexec_fn=partial(signal.signal, signal.SIGINT, interrupts),
        )

    async def run(self, *arguments: str, typed: str = "") -> Result:
        """Run `fmsvc` to its end."""
        process = await self.start(*arguments)
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await process.communicate(typed.encode())
        return Result(process.returncode or 0, out.decode(), err.decode())

    def environment(self) -> dict[str, str]:
        """No keyring, no browser, and nothing of the user's."""
        ours = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "BROWSER": "true",
            "FMSVC_API_URL": self.api_url,
            "PYTHONWARNINGS": "error",
        }
        return {name: value for name, value in (ours | self.variables).items() if value}
