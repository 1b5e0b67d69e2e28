"""The official TypeScript client of XRPC, called from Python."""

import asyncio
import json
from typing import Any, NamedTuple

import lexicons
from readapi.routes.xrpc import METHODS
from tests.network.testnet import NODE, PROJECT

Json = dict[str, Any]


class Call(NamedTuple):
    """A query to send."""

    method: str
    params: Json
    headers: dict[str, str] = {}  # noqa: RUF012  # never changed


async def call_queries(service: str, *calls: Call) -> list[Json]:
    """Send the queries, one after the other; an answer that its lexicon does not allow is an error.

    Each comes to `{"data": …}` or `{"status": …, "error": …, "message": …}`.
    """
    described = [lexicons.read(name) for name in ("defs", *(method.name for method in METHODS))]
    sent = {"service": service, "lexicons": described, "calls": [call._asdict() for call in calls]}
    process = await asyncio.create_subprocess_exec(
        NODE,
        "call.mjs",
        cwd=PROJECT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, said = await process.communicate(json.dumps(sent).encode())
    assert process.returncode == 0, said.decode()
    told: list[Json] = json.loads(printed)
    return told
