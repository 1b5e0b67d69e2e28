"""A relay of several real servers on loopback: one stream under its own numbers, and lists of who is there.

    async with MergingRelay(net) as relay:
        async with relay.meddling(Drop(of(ada.did, kinds=("#commit",)))):
            await ada.create_record(…)
            await relay.has_seen_all()

It keeps to the rules of relays: an event counts only from the server that the directory names, and numbers
only rise. What it knows of an account it knows from the account's events, whether or not it passes them on.
"""

import asyncio
import contextlib
import itertools
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

from tests.network import meddling
from tests.network.forge import ForgedRepo
from tests.network.gate import refusal
from tests.network.meddling import Meddler, Message
from tests.network.pds import Account
from tests.network.relay import PATH, Refuse, Relay
from tests.network.testnet import Testnet
from tests.patience import PATIENCE_SECONDS

FIRST_SEQ = 1000
PAGE = 500
ELSEWHERE = "net.example.thing"
RECONNECT_SECONDS = 0.05


@dataclass(slots=True)
class Known:
    """What the relay knows of one account."""

    rev: str = ""
    head: str = ""
    status: str = "active"
    collections: set[str] = field(default_factory=set)


class MergingRelay(Relay):
    """Everything that a relay does wrong, this one does too: see Relay and `meddling`."""

    def __init__(self, net: Testnet, *, window: int | None = None) -> None:
        routes = [
            web.get(f"/xrpc/com.atproto.sync.{name}", answer)
            for name, answer in {
                "listRepos": self._list_repos,
                "listReposByCollection": self._list_by_collection,
            }.items()
        ]
        super().__init__(window=window, routes=routes)
        self.net = net
        self.known: defaultdict[str, Known] = defaultdict(Known)
        self._seq = FIRST_SEQ
        self._hosts: dict[str, str] = {}
        self._meddlers: list[Meddler] = []
        self._beacons: list[Account] = []
        self._seen: set[str] = set()
        self._noticing = asyncio.Condition()
        self._numbers = itertools.count(1)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        for pds in self.net.pds:
            following = asyncio.create_task(self._follow(pds.url))
            self._stack.callback(following.cancel)
            # Somebody on every server whose writes tell how far its stream has been read.
            self._beacons.append(await pds.create_account(f"beacon-{secrets.token_hex(4)}.test"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        await super().__aexit__()

    @property
    def origin(self) -> str:
        """Where it answers questions."""
        return self.url.replace("ws://", "http://")

    @property
    def newest(self) -> int:
        """The number that it gave last."""
        return self._seq

    @asynccontextmanager
    async def meddling(self, *meddlers: Meddler) -> AsyncIterator[None]:
        """Let events pass through these, one after the other; what they still hold at the end comes then."""
        self._meddlers += meddlers
        try:
            yield
        finally:
            for meddler in meddlers:
                at = self._meddlers.index(meddler)
                self._meddlers.remove(meddler)
                await self._pass_on(meddler.end(), at)

    async def has_seen_all(self) -> None:
        """Wait until everything that happened before this call has passed through."""
        record = {"number": next(self._numbers)}
        marks = {(await beacon.put_record(ELSEWHERE, "here", record)).cid for beacon in self._beacons}
        async with asyncio.timeout(PATIENCE_SECONDS), self._noticing:
            await self._noticing.wait_for(lambda: marks <= self._seen)
            self._seen -= marks

    async def flood(self, frames: int) -> None:
        """Say a lot that concerns nobody, at once."""
        repo = ForgedRepo(seed="crowd", minimal=True)
        repo.create(ELSEWHERE, {"text": "x" * 2000})
        message = meddling.read("", repo.commit_frame(1))
        assert message
        await self._number([message] * frames)

    async def renumber(self) -> None:
        """Begin anew from 1 with an empty window, as after the loss of a disk: cursors lie in the future."""
        await self.disconnect(1012)
        self.frames.clear()
        self._seq = self._oldest = 0

    async def _follow(self, host: str) -> None:
        """Read one server's stream for ever, from its beginning."""
        cursor = 0
        address = host.replace("http://", "ws://", 1) + PATH
        async with aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    async with session.ws_connect(f"{address}?cursor={cursor}", max_msg_size=0) as stream:
                        async for frame in stream:
                            if message := meddling.read(host, frame.data):
                                await self._receive(session, message)
                                cursor = message.body["seq"]
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _receive(self, session: aiohttp.ClientSession, message: Message) -> None:
        if message.host != await self._host(session, message):
            return
        known = self.known[message.did]
        match message.kind:
            case "#commit":
                known.head = message.body["commit"].encode()
                known.rev = message.body["rev"]
                known.collections |= {operation["path"].split("/")[0] for operation in message.body["ops"]}
            case "#sync":
                known.rev = message.body["rev"]
                known.collections |= await self._described(session, message)
            case "#account":
                known.status = message.body.get("status", "active")
        await self._pass_on((message,), 0)
        if message.kind == "#commit" and message.did in {beacon.did for beacon in self._beacons}:
            async with self._noticing:
                self._seen |= {operation["cid"].encode() for operation in message.body["ops"]}
                self._noticing.notify_all()

    async def _pass_on(self, messages: Iterable[Message], at: int) -> None:
        """Let messages through the meddlers from this one on."""
        for meddler in self._meddlers[at:]:
            messages = [made for message in messages for made in meddler.take(message)]
        await self._number(messages)

    async def _number(self, messages: Iterable[Message]) -> None:
        frames = []
        for message in messages:
            self._seq += 1
            frames.append(message.frame(self._seq))
        await self.send(*frames)

    async def _host(self, session: aiohttp.ClientSession, message: Message) -> str | None:
        """The server that the directory names; asked again when it may have changed."""
        did = message.did
        # The last word of a server that an account has left may come before the first of the new one.
        if message.kind in ("#identity", "#account") or self._hosts.get(did) != message.host:
            async with session.get(f"{self.net.plc_url}/{did}") as response:
                document = await response.json(content_type=None)
            self._hosts[did] = document["service"][0]["serviceEndpoint"] if response.status == 200 else ""
        return self._hosts[did]

    async def _described(self, session: aiohttp.ClientSession, message: Message) -> set[str]:
        """The collections of a repo that came without operations."""
        address = f"{message.host}/xrpc/com.atproto.repo.describeRepo"
        async with session.get(address, params={"repo": message.did}) as response:
            return set((await response.json())["collections"]) if response.status == 200 else set()

    async def _list_repos(self, request: web.Request) -> web.Response:
        return _page(request, {did: self._listed(did) for did in self.known})

    async def _list_by_collection(self, request: web.Request) -> web.Response:
        wanted = request.query["collection"]
        held = {did for did, known in self.known.items() if wanted in known.collections}
        return _page(request, {did: {"did": did} for did in held if self.known[did].status != "deleted"})

    async def _status(self, request: web.Request) -> web.StreamResponse:
        did = request.query["did"]
        if did not in self.known:
            return refusal(Refuse(400), "RepoNotFound")
        return web.json_response(self._listed(did))

    def _listed(self, did: str) -> dict[str, Any]:
        known = self.known[did]
        entry = {"did": did, "head": known.head, "rev": known.rev, "active": known.status == "active"}
        return entry if entry["active"] else entry | {"status": known.status}


def _page(request: web.Request, entries: Mapping[str, dict[str, Any]]) -> web.Response:
    """The accounts after the cursor, in the order of their DIDs."""
    limit = int(request.query.get("limit", PAGE))
    dids = [did for did in sorted(entries) if did > request.query.get("cursor", "")][:limit]
    more = {"cursor": dids[-1]} if len(dids) == limit else {}
    return web.json_response({"repos": [entries[did] for did in dids], **more})
