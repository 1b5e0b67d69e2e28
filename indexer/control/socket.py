"""The control socket: HTTP on a Unix socket beside the stores. Health, metrics, nudges, proofs, records."""

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiohttp
import orjson
from aiohttp import web

from indexer.control.nudge import Nudged
from indexer.control.prove import NotProven, Proven
from indexer.faults import StoreError
from schemas.ids import AtUri

NAME = "control.sock"
MAX_REQUEST_BYTES = 16 << 10
CAR = "application/vnd.ipld.car"
DAG_CBOR = "application/vnd.ipld.dag-cbor"
REV = "Atproto-Repo-Rev"  # a header: the commit that an answer was read from


class Control:
    """Serves the socket. Only this user may connect. A socket that a killed indexer left is replaced."""

    def __init__(
        self,
        data_dir: Path,
        *,
        health: Callable[[], dict[str, Any]],
        metrics: Callable[[], Awaitable[bytes]],
        nudge: Callable[[AtUri], Awaitable[Nudged]],
        prove: Callable[[AtUri], Awaitable[Proven]],
        routes: Iterable[web.AbstractRouteDef] = (),
    ) -> None:
        self._path = data_dir / NAME
        self._health = health
        self._metrics = metrics
        self._nudge = nudge
        self._prove = prove
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        app.router.add_get("/health", self._get_health)
        app.router.add_get("/metrics", self._get_metrics)
        app.router.add_post("/nudge", self._post_nudge)
        app.router.add_post("/proof", self._post_proof)
        app.router.add_post("/record", self._post_record)
        app.add_routes(routes)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.SockSite(self._runner, _listen(self._path)).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        await self._runner.cleanup()

    async def _get_health(self, _: web.Request) -> web.Response:
        return _json(200, self._health())

    async def _get_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._metrics(), content_type="text/plain", charset="utf-8")

    async def _post_nudge(self, request: web.Request) -> web.Response:
        uri = _uri(await request.read())
        if uri is None:
            return _json(
                400, {"message": "The body must be {did, uri}: a DID and an at-uri of one of its records."}
            )
        try:
            nudged = await self._nudge(uri)
        except NotProven as error:
            return _json(404 if error.missing else 502, {"message": str(error)})
        return _json(200, {"rev": nudged.rev, "op": nudged.op} | ({"cid": nudged.cid} if nudged.cid else {}))

    async def _post_proof(self, request: web.Request) -> web.Response:
        uri = _uri(await request.read())
        if uri is None:
            return _json(400, {"message": "The body must be {did, uri}: a DID and an at-uri of its records."})
        try:
            proven = await self._prove(uri)
        except NotProven as error:
            return _json(404 if error.missing else 502, {"message": str(error)})
        if proven.proof.cid is None:
            return _json(404, {"message": "The account's server proves that there is no such record."})
        return web.Response(body=proven.car, content_type=CAR)

    async def _post_record(self, request: web.Request) -> web.Response:
        """200: the record with its proof verified; 204: proof that there is none; 502: no proof."""
        uri = _uri(await request.read())
        if uri is None:
            return _json(400, {"message": "The body must be {did, uri}: a DID and an at-uri of its records."})
        try:
            found = (await self._prove(uri)).proof
        except NotProven as error:
            return _json(502, {"message": str(error)})
        signed = {REV: found.rev}
        if found.block is None:
            return web.Response(status=204, headers=signed)
        return web.Response(body=found.block, content_type=DAG_CBOR, headers=signed)


class Unanswered(Exception):
    """The running indexer did not answer a request; the message is a sentence."""


@asynccontextmanager
async def asking(data_dir: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client of the indexer that runs on this folder. Its errors raise Unanswered."""
    connector = aiohttp.UnixConnector(str(data_dir / NAME))
    patience = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
    try:
        async with aiohttp.ClientSession(
            "http://indexer", connector=connector, timeout=patience, raise_for_status=True
        ) as session:
            yield session
    except (aiohttp.ClientError, OSError) as error:
        raise Unanswered(f"The running indexer does not answer ({error}); try again.") from error


def answers(data_dir: Path) -> bool:
    """True when an indexer runs on this folder."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(data_dir / NAME))
        except OSError:
            return False
    return True


def _listen(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    previous = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        raise StoreError(
            f"The control socket {path} cannot be made ({error}); choose another FMSVC_DATA_DIR."
        ) from error
    finally:
        os.umask(previous)
    return listening


def _uri(body: bytes) -> AtUri | None:
    """The record that a request names; None when the body does not name one of the DID's."""
    try:
        asked = orjson.loads(body)
        uri = AtUri.parse(asked["uri"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return uri if asked.get("did") == uri.did else None


def _json(status: int, body: dict[str, Any]) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")
