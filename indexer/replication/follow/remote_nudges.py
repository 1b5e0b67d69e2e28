"""Nudges of this machine's API, sent on to the indexer whose index is shown here."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson

from indexer.control.nudge import Nudged
from indexer.control.prove import NotProven
from indexer.replication import signed_nudges
from indexer.replication.manifest import Manifest
from schemas import control_socket
from schemas.ids import AtUri, Cid, Tid

SECONDS = 20.0


class RemoteNudges:
    """`shown` gives the manifest that is shown now."""

    def __init__(
        self, session: aiohttp.ClientSession, key: str | None, shown: Callable[[], Manifest | None]
    ) -> None:
        self._session = session
        self._key = key
        self._shown = shown

    async def nudge(self, uri: AtUri) -> Nudged:
        """Have the indexer read a record. The answer's `op` is of the index shown. Raises NotProven."""
        shown = self._shown()
        if shown is None or shown.nudges is None or self._key is None:
            raise NotProven("The indexer takes no nudges from this machine; the write arrives in the stream.")
        try:
            status, answer = await self._ask(f"{shown.nudges}{signed_nudges.PATH}", self._key, uri)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            reason = str(error)[:200] or type(error).__name__
            raise NotProven(f"The indexer does not answer nudges ({reason}).") from error
        if status != 200:
            raise NotProven(str(answer.get("message", status)), missing=status == 404)
        current = self._shown()
        if current is None or current.node != shown.node:
            raise NotProven("Another indexer took over meanwhile; the write arrives in the stream.")
        cid = answer["cid"]
        return Nudged(Tid(answer["rev"]), None if cid is None else Cid(cid), int(answer["op"]))

    async def _ask(self, url: str, key: str, uri: AtUri) -> tuple[int, dict[str, Any]]:
        """Send a nudge; returns status and body of the signed answer.

        Raises ValueError for a bad signature, and others.
        """
        body, now = control_socket.encode_uri(uri), int(time.time())
        signature = signed_nudges.sign_request(key, now, body)
        headers = {signed_nudges.TIME_HEADER: str(now), signed_nudges.SIGNATURE_HEADER: signature}
        async with (
            asyncio.timeout(SECONDS),
            self._session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            content = await response.content.read(signed_nudges.MOST_BYTES)
            expected = signed_nudges.sign_answer(key, signature, response.status, content)
            if response.headers.get(signed_nudges.SIGNATURE_HEADER) != expected:
                raise ValueError(f"status {response.status}, not signed with FMSVC_CLUSTER_KEY")
            answer: dict[str, Any] = orjson.loads(content)
            return response.status, answer
