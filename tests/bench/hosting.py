"""A whole network for grown repos in one process of its own: directory, relay with lists, and PDS."""

import asyncio
import contextlib
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection

import libipld
import orjson
from aiohttp import WSMsgType, web

from tests.bench.grown import GrownRepo
from tests.network import doubles

Make = Callable[[], Iterable[GrownRepo]]


class Hosting:
    """Answers for repos; says nothing on its stream."""

    def __init__(self, repos: Iterable[GrownRepo], *, sparse: bool) -> None:
        self._repos = {repo.did: repo for repo in repos}
        self._sparse = sparse
        self.url = ""

    async def serve(self, port: Connection) -> None:
        """Until killed."""
        app = web.Application()
        app.router.add_get("/xrpc/com.atproto.sync.{method}", self._xrpc)
        app.router.add_get("/{did}", self._document)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://localhost:{runner.addresses[0][1]}"
        port.send((self.url, [(repo.did, repo.key, repo.count) for repo in self._repos.values()]))
        await asyncio.Event().wait()

    async def _xrpc(self, request: web.Request) -> web.StreamResponse:
        match request.match_info["method"]:
            case "subscribeRepos":
                return await _silence(request)
            case "listReposByCollection":
                return self._list(request.query["collection"])
            case "getRecord" if self._sparse:
                path = f"{request.query['collection']}/{request.query['rkey']}"
                return web.Response(body=self._repos[request.query["did"]].proof(path))
            case "getBlocks" if self._sparse:
                cids = [libipld.decode_multibase(cid)[1] for cid in request.query.getall("cids")]
                return web.Response(body=self._repos[request.query["did"]].some(cids))
            case "getRepo":
                return await self._whole(request)
            case _:
                return web.json_response({"error": "MethodNotImplemented"}, status=501)

    async def _whole(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        held = bytearray()
        for piece in self._repos[request.query["did"]].pieces():
            held += piece
            if len(held) > 256 << 10:
                await response.write(held)
                held = bytearray()
        await response.write(held)
        return response

    def _list(self, collection: str) -> web.Response:
        listed = [{"did": repo.did} for repo in self._repos.values() if collection in repo.names]
        return web.json_response({"repos": listed})

    async def _document(self, request: web.Request) -> web.Response:
        repo = self._repos[request.match_info["did"]]
        method = {
            "id": f"{repo.did}#atproto",
            "type": "Multikey",
            "controller": repo.did,
            "publicKeyMultibase": repo.key,
        }
        document = orjson.loads(doubles.document(repo.did, service=doubles.service(self.url), alsoKnownAs=[]))
        return web.json_response(document | {"verificationMethod": [method]})


async def _silence(request: web.Request) -> web.StreamResponse:
    stream = web.WebSocketResponse()
    await stream.prepare(request)
    async for message in stream:
        if message.type == WSMsgType.ERROR:
            break
    return stream


Hosted = tuple[str, list[tuple[str, str, int]]]


@contextlib.contextmanager
def hosted(make: Make, *, sparse: bool = True) -> Iterator[Hosted]:
    """The network's address, and the DID, key and number of records of each of its repos."""
    told, port = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(target=_serve, args=(make, sparse, port), daemon=True)
    server.start()
    try:
        yield told.recv()
    finally:
        server.terminate()
        server.join()


def _serve(make: Make, sparse: bool, port: Connection) -> None:
    asyncio.run(Hosting(make(), sparse=sparse).serve(port))
