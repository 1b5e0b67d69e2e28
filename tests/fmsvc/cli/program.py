"""The command line within the process of the tests: a start of its own would cost each command a second."""

import asyncio
import io
import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from fmsvc.cli import run
from tests.fmsvc.cli.terminal import Result
from tests.patience import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Program:
    """Runs commands in a folder, against the service at `api_url`, without a terminal."""

    folder: Path
    api_url: str
    token: str = field(default="", repr=False)

    async def run(self, *arguments: str, typed: str = "") -> Result:
        """Run a command to its end."""
        return await asyncio.to_thread(self._run, arguments, typed)

    async def say(self, *arguments: str, typed: str = "") -> str:
        """What a command that succeeds prints."""
        result = await self.run(*arguments, typed=typed)
        assert result.code == 0, (arguments, result)
        return result.out

    async def tell(self, *arguments: str, typed: str = "") -> Any:
        """The JSON that a command prints with `--json`."""
        return json.loads(await self.say(*arguments, "--json", typed=typed))

    async def lines(self, *arguments: str) -> list[Any]:
        """The lines of JSON that a command prints with `--json`."""
        return [json.loads(line) for line in (await self.say(*arguments, "--json")).splitlines()]

    async def lines_until(self, wanted: object, *arguments: str, name: str = "id") -> list[Any]:
        """The same, when an item's `name` is `wanted`: what is counted follows a moment later."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = await self.lines(*arguments)
                if wanted in [item[name] for item in found]:
                    return found
                await asyncio.sleep(0.1)

    def _run(self, arguments: tuple[str, ...], typed: str) -> Result:
        out, err = io.StringIO(), io.StringIO()
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "SSL_CERT_FILE": os.devnull,
            "FMSVC_API_URL": self.api_url,
            "FMSVC_TOKEN": self.token,
        }
        with (
            mock.patch.dict(
                os.environ, {name: value for name, value in variables.items() if value}, clear=True
            ),
            mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode()))),
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = run(list(arguments))
        return Result(code, out.getvalue(), err.getvalue())
