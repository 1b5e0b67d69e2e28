"""A directory, a personal data server and a relay's lists in one, on loopback, for repos that are forged.

    async with ForgedNetwork([repo]) as net:
        settings = {"FMSVC_PLC_URL": net.url, "FMSVC_ALLOW_LOOPBACK": "true"}

A method goes wrong once for each of its faults: `net.faults["getRepo"] = iter([Refuse(429), Corrupt()])`,
or for ever with `itertools.repeat`. Methods in `net.missing` are not implemented, as getBlocks may not be.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import libipld
import orjson
from aiohttp import web
from cbrrr import decode_dag_cbor

from tests.network import doubles
from tests.network.forge import ForgedRepo
from tests.network.gate import Corrupt, Fault, Stall, corrupted, cut, refusal
from tests.network.relay import Cut, Refuse

JSON = "application/json"
CAR = "application/vnd.ipld.car"
PAGE = 500


class Xrpc(Exception):
    """A refusal that is part of the protocol, by its name."""


class ForgedNetwork(doubles.Loopback):
    """`status`: why accounts are not active. `handles`, `keys`, `homes`: what documents claim instead of the
    truth; a home is a server's address."""

    def __init__(self, repos: Iterable[ForgedRepo] = ()) -> None:
        super().__init__(web.get("/xrpc/{method}", self._xrpc), web.get("/{did}", self._document))
        self.repos = {repo.did: repo for repo in repos}
        self.status: dict[str, str] = {}
        self.handles: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.homes: dict[str, str] = {}
        self.faults: dict[str, Iterator[Fault | None]] = {}
        self.missing: set[str] = set()
        self.asked: Counter[str] = Counter()

    def add(self, *repos: ForgedRepo) -> None:
        self.repos |= {repo.did: repo for repo in repos}

    def handle(self, did: str) -> str:
        return self.handles.get(did, f"{did.removeprefix('did:plc:')[:12]}.test")

    async def _document(self, request: web.Request) -> web.StreamResponse:
        did = request.match_info["did"]
        return await self._answer("document", request, lambda _: (self._did_document(did), JSON))

    async def _xrpc(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"].rsplit(".", 1)[1]
        answering = None if method in self.missing else _METHODS.get(method)
        if answering is None:
            return refusal(Refuse(501), "MethodNotImplemented")
        return await self._answer(method, request, lambda request: answering(self, request))

    async def _answer(
        self, method: str, request: web.Request, answering: Callable[[web.Request], tuple[bytes, str]]
    ) -> web.StreamResponse:
        self.asked[method] += 1
        fault = next(self.faults.get(method, iter(())), None)
        if isinstance(fault, Refuse):
            return refusal(fault)
        if isinstance(fault, Stall):
            await asyncio.sleep(fault.seconds)
        try:
            body, kind = answering(request)
        except Xrpc as error:
            return refusal(Refuse(400), str(error))
        if isinstance(fault, Cut):
            return await cut(request, body, kind, fault.after)
        if isinstance(fault, Corrupt):
            body = corrupted(body)
        return web.Response(body=body, content_type=kind)

    def _did_document(self, did: str) -> bytes:
        if did not in self.repos:
            raise web.HTTPNotFound
        key = {
            "id": f"{did}#atproto",
            "type": "Multikey",
            "controller": did,
            "publicKeyMultibase": self.keys.get(did, self.repos[did].key.multibase),
        }
        return doubles.document(
            did,
            alsoKnownAs=[f"at://{self.handle(did)}"],
            verificationMethod=[key],
            service=doubles.service(self.homes.get(did, self.url)),
        )

    def _repo(self, did: str) -> ForgedRepo:
        """The repo, if it can be had."""
        repo = self.repos.get(did)
        if repo is None or repo.rev is None or self.status.get(did) == "deleted":
            raise Xrpc("RepoNotFound")
        if status := self.status.get(did):
            raise Xrpc(f"Repo{status.capitalize()}")
        return repo

    def _resolve_handle(self, request: web.Request) -> tuple[bytes, str]:
        for did in self.repos:
            if self.handle(did) == request.query["handle"] and did not in self.status:
                return _json({"did": did})
        raise Xrpc("HandleNotFound")

    def _describe_server(self, _: web.Request) -> tuple[bytes, str]:
        return _json({"did": "did:web:localhost", "availableUserDomains": [".test"]})

    def _get_repo(self, request: web.Request) -> tuple[bytes, str]:
        return self._repo(request.query["did"]).whole_repo(), CAR

    def _get_record(self, request: web.Request) -> tuple[bytes, str]:
        repo = self._repo(request.query["did"])
        return repo.record_proof(request.query["collection"], request.query["rkey"]), CAR

    def _get_blocks(self, request: web.Request) -> tuple[bytes, str]:
        repo = self._repo(request.query["did"])
        found = repo.some_blocks([libipld.decode_multibase(cid)[1] for cid in request.query.getall("cids")])
        if found is None:
            raise Xrpc("BlockNotFound")
        return found, CAR

    def _get_latest_commit(self, request: web.Request) -> tuple[bytes, str]:
        repo = self._repo(request.query["did"])
        return _json({"cid": repo.commit_cid, "rev": repo.rev})

    def _get_repo_status(self, request: web.Request) -> tuple[bytes, str]:
        did = request.query["did"]
        repo, status = self.repos.get(did), self.status.get(did)
        if repo is None or status == "deleted":
            raise Xrpc("RepoNotFound")
        rest = {"status": status} if status else {"rev": repo.rev}
        return _json({"did": did, "active": status is None, **rest})

    def _describe_repo(self, request: web.Request) -> tuple[bytes, str]:
        repo = self._repo(request.query["repo"])
        collections = sorted({path.split("/")[0] for path in repo.paths})
        document = orjson.loads(self._did_document(repo.did))
        told = {"did": repo.did, "handle": self.handle(repo.did), "handleIsCorrect": True}
        return _json({**told, "didDoc": document, "collections": collections})

    def _list_records(self, request: web.Request) -> tuple[bytes, str]:
        repo = self._repo(request.query["repo"])
        prefix = f"{request.query['collection']}/"
        paths = [path for path in reversed(repo.paths) if path.startswith(prefix)]
        if (cursor := request.query.get("cursor")) is not None:
            paths = [path for path in paths if path < prefix + cursor]
        page = paths[: int(request.query.get("limit", 50))]
        records = [
            {"uri": f"at://{repo.did}/{path}", "cid": cid, "value": decode_dag_cbor(block, atjson_mode=True)}
            for path in page
            for cid, block in [repo.record(path)]
        ]
        return _json({"records": records} | ({"cursor": page[-1].split("/")[1]} if page else {}))

    def _list_repos(self, request: web.Request) -> tuple[bytes, str]:
        hosted = [repo for repo in self.repos.values() if repo.rev and self.status.get(repo.did) != "deleted"]
        return _page(request, {repo.did: self._listed(repo) for repo in hosted})

    def _list_repos_by_collection(self, request: web.Request) -> tuple[bytes, str]:
        prefix = f"{request.query['collection']}/"
        hosted = [repo.did for repo in self.repos.values() if any(p.startswith(prefix) for p in repo.paths)]
        return _page(request, {did: {"did": did} for did in hosted})

    def _listed(self, repo: ForgedRepo) -> dict[str, Any]:
        status = self.status.get(repo.did)
        entry = {"did": repo.did, "head": repo.commit_cid, "rev": repo.rev, "active": status is None}
        return entry | ({"status": status} if status else {})


_METHODS: dict[str, Callable[[ForgedNetwork, web.Request], tuple[bytes, str]]] = {
    "resolveHandle": ForgedNetwork._resolve_handle,
    "describeServer": ForgedNetwork._describe_server,
    "getRepo": ForgedNetwork._get_repo,
    "getRecord": ForgedNetwork._get_record,
    "getBlocks": ForgedNetwork._get_blocks,
    "getLatestCommit": ForgedNetwork._get_latest_commit,
    "getRepoStatus": ForgedNetwork._get_repo_status,
    "describeRepo": ForgedNetwork._describe_repo,
    "listRecords": ForgedNetwork._list_records,
    "listRepos": ForgedNetwork._list_repos,
    "listReposByCollection": ForgedNetwork._list_repos_by_collection,
}


def _page(request: web.Request, entries: dict[str, dict[str, Any]]) -> tuple[bytes, str]:
    """The repos after the cursor, in the order of their DIDs; a cursor when there may be more."""
    limit = int(request.query.get("limit", PAGE))
    dids = [did for did in sorted(entries) if did > request.query.get("cursor", "")][:limit]
    more = {"cursor": dids[-1]} if len(dids) == limit else {}
    return _json({"repos": [entries[did] for did in dids], **more})


def _json(answer: dict[str, Any]) -> tuple[bytes, str]:
    return orjson.dumps(answer), JSON
