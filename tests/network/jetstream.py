"""A Jetstream on loopback, both versions: says again as JSON what a relay sends, and breaks on request.

async with JetstreamDouble([repo.commit_frame(1)]) as host:
    source = Jetstream(host.url, session, collections)
"""

import asyncio
import base64
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

import libipld
import orjson
from aiohttp import web
from cbrrr import decode_dag_cbor

from indexer.repo import car
from indexer.stream.decode_jetstream import EPOCH, MICROSECOND
from tests.network.relay import Close, Refuse

NSID = "network.bsky.jetstream.subscribeEvents"


@dataclass(frozen=True, slots=True)
class Message:
    """One event as either version says it; version 1 has no words for some."""

    at: int
    collection: str | None
    first: bytes | None
    second: bytes


class JetstreamDouble:
    """Each connection takes the next of `faults`; with none left it serves for ever.

    `asked` has the query of each connection. Messages older than the newest `window` are forgotten.
    """

    def __init__(
        self,
        frames: Iterable[bytes] = (),
        *,
        faults: Iterable[Close | Refuse] = (),
        window: int | None = None,
    ) -> None:
        self.messages: list[Message] = []
        self.faults = list(faults)
        self.window = window
        self.asked: list[dict[str, list[str]]] = []
        self.url = ""
        self._more = asyncio.Condition()
        self._open: set[web.WebSocketResponse] = set()
        for frame in frames:
            self.messages += self._messages(frame)
        app = web.Application()
        app.router.add_get("/subscribe", self._first)
        app.router.add_get(f"/xrpc/{NSID}", self._second)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in list(self._open):
            with contextlib.suppress(ConnectionError):
                await connection.close(code=1001)
        await self._runner.cleanup()

    async def hear(self, *frames: bytes) -> None:
        """Take in what a relay sent, and pass it on to whoever is connected."""
        async with self._more:
            for frame in frames:
                self.messages += self._messages(frame)
            self._more.notify_all()

    async def _first(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribe(request, "wantedCollections", web.WebSocketResponse(compress=False))

    async def _second(self, request: web.Request) -> web.StreamResponse:
        connection = web.WebSocketResponse(compress=False, protocols=("xrpc.v1.json",))
        return await self._subscribe(request, "collections", connection)

    async def _subscribe(
        self, request: web.Request, filter_name: str, connection: web.WebSocketResponse
    ) -> web.StreamResponse:
        self.asked.append({name: request.query.getall(name) for name in request.query})
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Refuse):
            return web.Response(status=fault.status)
        await connection.prepare(request)
        self._open.add(connection)
        wanted = frozenset(request.query.getall(filter_name, []))
        serving = asyncio.ensure_future(self._serve(connection, request, wanted, fault))
        try:
            async for _ in connection:
                pass
        finally:
            self._open.discard(connection)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        return connection

    async def _serve(
        self,
        connection: web.WebSocketResponse,
        request: web.Request,
        wanted: frozenset[str],
        fault: Close | None,
    ) -> None:
        is_second = connection.ws_protocol is not None
        at, left = await self._begin(connection, request, is_second), fault.after if fault else -1
        while left != 0:
            async with self._more:
                while at == len(self.messages):
                    await self._more.wait()
            message = self.messages[at]
            at += 1
            said = message.second if is_second else message.first
            if said is not None and message.collection in (None, *wanted):
                await connection.send_str(said.decode())
                left -= 1
        if fault:
            await connection.close(code=fault.code)

    async def _begin(self, connection: web.WebSocketResponse, request: web.Request, is_second: bool) -> int:
        """Where in the messages: an old cursor becomes the oldest, which only version 2 admits."""
        if "cursor" not in request.query:
            return len(self.messages)
        cursor = int(request.query["cursor"])
        oldest = 0 if self.window is None else max(0, len(self.messages) - self.window)
        wanted = sum(message.at < cursor for message in self.messages)
        if wanted < oldest and is_second:
            note = {"$type": f"{NSID}#info", "name": "OutdatedCursor", "message": "clamped"}
            await connection.send_str(_envelope(note).decode())
        return max(oldest, wanted)

    def _messages(self, frame: bytes) -> Iterator[Message]:
        header, body = libipld.decode_dag_cbor_multi(frame)
        kind = header["t"].removeprefix("#")
        did = body["repo" if kind == "commit" else "did"]
        time = (datetime.fromisoformat(body["time"]) - EPOCH) // MICROSECOND
        if kind == "commit":
            blocks = car.read_car(body["blocks"]).blocks
            for offset, operation in enumerate(body["ops"]):
                change = _change(body["rev"], operation, blocks)
                yield _message(time + offset, did, kind, change, change["collection"])
        elif kind == "sync":
            blocks_text = base64.b64encode(body["blocks"]).decode().rstrip("=")
            yield _message(time, did, kind, body | {"blocks": {"$bytes": blocks_text}}, None)
        else:
            yield _message(time, did, kind, body, None)


def _change(rev: str, operation: dict[str, Any], blocks: dict[bytes, bytes]) -> dict[str, Any]:
    collection, _, rkey = operation["path"].partition("/")
    change = {"rev": rev, "operation": operation["action"], "collection": collection, "rkey": rkey}
    if operation["cid"] is None:
        return change
    record = decode_dag_cbor(blocks[operation["cid"]], atjson_mode=True)
    return change | {"record": record, "cid": libipld.encode_multibase("b", operation["cid"])}


def _message(at: int, did: str, kind: str, fields: dict[str, Any], collection: str | None) -> Message:
    time = (EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    first = {"did": did, "time_us": at, "kind": kind, kind: fields}
    second = {"$type": f"{NSID}#{kind}", "did": did, "seq": at % 10**9, "time": time, "witnessedAt": time}
    second |= fields if kind == "commit" else {kind: fields}
    return Message(at, collection, None if kind == "sync" else orjson.dumps(first), _envelope(second))


def _envelope(payload: dict[str, Any]) -> bytes:
    return orjson.dumps({"$type": "message", "payload": payload})
