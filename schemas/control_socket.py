"""HTTP on the indexer's control socket: its paths, its header, and the one client of it.

The API's processes serve their metrics on sockets of their own in the data folder, to the same client.
"""

import socket
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import orjson

from schemas.ids import AtUri

HEALTH: Final = "/health"
METRICS: Final = "/metrics"
NUDGE: Final = "/nudge"  # POST with `encode_uri`: read this record at its account's server, and show it
PROOF: Final = "/proof"  # POST with `encode_uri`: the record's proof, as a CAR
RECORD: Final = (
    "/record"  # POST with `encode_uri`: the record, verified; 204 where the repo proves that it has none
)
REV_HEADER: Final = "Atproto-Repo-Rev"  # of an answer to RECORD: the commit that it was read from

CONNECT_SECONDS: Final = 5.0
MOST_BYTES: Final = 1 << 20  # of an answer, where the caller gives no other limit


class Unanswered(Exception):
    """A process did not answer as expected; the message is a sentence."""


class ControlAnswer(NamedTuple):
    """An answer of an accepted status, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def ask(
    socket_path: Path,
    method: str,
    path: str,
    *,
    seconds: float | None,
    most_bytes: int = MOST_BYTES,
    accepted: Collection[int] = (200,),
    query: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> ControlAnswer:
    """One request. Raises Unanswered: no answer in time, one of another status, or one that is too large.

    `seconds`: for the whole request; None for work that takes as long as it takes, while the process lives.
    """
    async with _asked(socket_path, method, path, seconds, accepted, query, body) as response:
        content = await response.content.read(most_bytes + 1)
        while len(content) <= most_bytes and not response.content.at_eof():
            content += await response.content.read(most_bytes + 1 - len(content))
        if len(content) > most_bytes:
            raise Unanswered(f"{socket_path} answers {path} with more than {most_bytes:,} bytes.")
        return ControlAnswer(response.status, response.headers, content)


async def ask_lines(
    socket_path: Path, method: str, path: str, *, query: Mapping[str, str] | None = None
) -> AsyncGenerator[bytes]:
    """Yield the answer's lines as they come, each of 128 KiB at most. Raises Unanswered."""
    async with _asked(socket_path, method, path, None, (200,), query, None) as response:
        async for line in response.content:
            yield line


def is_listening(socket_path: Path) -> bool:
    """True when a process listens at this socket, however busy it is."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(str(socket_path))
        except BlockingIOError:  # its queue of connections is full
            return True
        except OSError:
            return False
    return True


def encode_uri(uri: AtUri) -> bytes:
    """The body of a request that is about one record."""
    return orjson.dumps({"did": uri.did, "uri": str(uri)})


def decode_uri(body: bytes) -> AtUri | None:
    """The record that such a body names; None when it does not name one of the DID's."""
    try:
        asked = orjson.loads(body)
        uri = AtUri.parse(asked["uri"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return uri if asked.get("did") == uri.did else None


@asynccontextmanager
async def _asked(
    socket_path: Path,
    method: str,
    path: str,
    seconds: float | None,
    accepted: Collection[int],
    query: Mapping[str, str] | None,
    body: bytes | None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
    connector = aiohttp.UnixConnector(str(socket_path))
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.request(
                method, f"http://process{path}", params=query, data=body, allow_redirects=False
            ) as response,
        ):
            if response.status not in accepted:
                raise Unanswered(f"{socket_path} answers {path} with status {response.status}.")
            yield response
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        reason = str(error)[:200] or type(error).__name__
        raise Unanswered(f"{socket_path} does not answer {path} ({reason}); try again.") from error
