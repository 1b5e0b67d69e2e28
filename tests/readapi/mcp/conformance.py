"""The official conformance suite, run against a server on loopback."""

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.network.testnet import NODE

SUITE = Path(__file__).parents[2] / "consumers/node_modules/@modelcontextprotocol/conformance/dist/index.js"
_DONE = re.compile(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)


async def run(url: str, *arguments: str) -> dict[str, tuple[int, int]]:
    """Run it; how many checks of each scenario passed, and how many failed."""
    if not SUITE.is_file():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("it is not installed: npm --prefix tests/consumers ci --ignore-scripts")
    suite = await asyncio.create_subprocess_exec(
        NODE,
        SUITE,
        "server",
        "--url",
        url,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told = (await suite.communicate())[0].decode()
    done = {name: (int(passed), int(failed)) for name, passed, failed in _DONE.findall(told)}
    assert done, told[-2000:]
    return done


def rpc(method: str, params: dict[str, Any] | None = None, number: int | None = 1) -> str:
    """A message as clients send it; a notification without a number."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    return json.dumps({name: value for name, value in message.items() if value is not None})
