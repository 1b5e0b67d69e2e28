"""The control socket: HTTP on a Unix socket beside the stores. Health, metrics, nudges, proofs, records."""

import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Self

import orjson
from aiohttp import web

from indexer.control.nudge import Nudged
from indexer.control.prove import NotProven, Proven
from indexer.faults import StoreError
from schemas import control_socket, data_folder
from schemas.ids import AtUri

MAX_REQUEST_BYTES = 16 << 10
CAR = "application/vnd.ipld.car"
DAG_CBOR = "application/vnd.ipld.dag-cbor"


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
        self._path = data_dir / data_folder.CONTROL_SOCKET
        self._health = health
        self._metrics = metrics
        self._nudge = nudge
        self._prove = prove
        app = web.Application(client_max_size=MAX_REQUEST_BYTES)
        app.router.add_get(control_socket.HEALTH, self._get_health)
        app.router.add_get(control_socket.METRICS, self._get_metrics)
        app.router.add_post(control_socket.NUDGE, self._post_nudge)
        app.router.add_post(control_socket.PROOF, self._post_proof)
        app.router.add_post(control_socket.RECORD, self._post_record)
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
        uri = control_socket.decode_uri(await request.read())
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
        uri = control_socket.decode_uri(await request.read())
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
        uri = control_socket.decode_uri(await request.read())
        if uri is None:
            return _json(400, {"message": "The body must be {did, uri}: a DID and an at-uri of its records."})
        try:
            found = (await self._prove(uri)).proof
        except NotProven as error:
            return _json(502, {"message": str(error)})
        signed = {control_socket.REV_HEADER: found.rev}
        if found.block is None:
            return web.Response(status=204, headers=signed)
        return web.Response(body=found.block, content_type=DAG_CBOR, headers=signed)


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


def _json(status: int, body: dict[str, Any]) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")
