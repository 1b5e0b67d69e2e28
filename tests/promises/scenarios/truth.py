"""What is true: who the servers say they host, in what state, with which records."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from cbrrr import encode_dag_cbor

from schemas import records
from schemas.collections import Collections
from schemas.ids import Nsid, Rkey
from tests.network.pds import Json, Pds
from tests.network.testnet import Testnet

COLLECTIONS = Collections()
PAGE = "100"
AT_ONCE = 8

Kind = Literal["track", "like", "comment", "list", "profile"]
KINDS: dict[Nsid, Kind] = {
    COLLECTIONS.track: "track",
    COLLECTIONS.like: "like",
    COLLECTIONS.comment: "comment",
    COLLECTIONS.list: "list",
    COLLECTIONS.profile: "profile",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One record as its server lists it. `valid`: it is what its lexicon demands."""

    kind: Kind
    cid: str
    value: Json
    valid: bool


@dataclass(frozen=True, slots=True)
class Hosted:
    """One account, by the server that the directory names. `records` only while it is active."""

    did: str
    handle: str
    status: str
    records: dict[str, Listed] = field(default_factory=dict)


@dataclass(slots=True)
class Truth:
    """Asks the servers. Accounts that are not `watched` are asked only when their listing has changed."""

    net: Testnet
    watched: set[str] = field(default_factory=set)
    _known: dict[tuple[str, str], tuple[Json, Hosted | None]] = field(default_factory=dict)

    async def read(self, *, thorough: bool = False) -> dict[str, Hosted]:
        """Every account that a server lists and that the directory says is there."""
        turn = asyncio.Semaphore(AT_ONCE)

        async def hosted(pds: Pds, repo: Json) -> Hosted | None:
            did = repo["did"]
            listing, known = self._known.get((pds.url, did), ({}, None))
            if thorough or repo != listing or did in self.watched:
                async with turn:
                    known = await self._hosted(pds, did)
                self._known[pds.url, did] = (repo, known)
            return known

        asked = [hosted(pds, repo) for pds in self.net.pds for repo in await _repos(pds)]
        return {account.did: account for account in await asyncio.gather(*asked) if account}

    async def _hosted(self, pds: Pds, did: str) -> Hosted | None:
        async with pds.session.get(f"{self.net.plc_url}/{did}") as response:
            document = await response.json(content_type=None)
        if document["service"][0]["serviceEndpoint"] != pds.url:
            return None
        handle = document["alsoKnownAs"][0].removeprefix("at://")
        said = await pds.get("com.atproto.sync.getRepoStatus", did=did)
        if not said["active"]:
            return Hosted(did, handle, said["status"])
        return Hosted(did, handle, "active", {uri: listed async for uri, listed in _records(pds, did)})


async def _repos(pds: Pds) -> list[Json]:
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = await pds.get("com.atproto.sync.listRepos", None, limit="1000", **cursor)
        found += page["repos"]
        if "cursor" not in page:
            return found
        cursor = {"cursor": page["cursor"]}


async def _records(pds: Pds, did: str) -> AsyncIterator[tuple[str, Listed]]:
    for collection in KINDS:
        cursor: dict[str, str] = {}
        while True:
            page = await pds.get(
                "com.atproto.repo.listRecords", None, repo=did, collection=collection, limit=PAGE, **cursor
            )
            for record in page["records"]:
                yield record["uri"], _listed(collection, record)
            if len(page["records"]) < int(PAGE):
                break
            cursor = {"cursor": page["cursor"]}


def _listed(collection: Nsid, record: dict[str, Any]) -> Listed:
    block = encode_dag_cbor(record["value"], atjson_mode=True)
    rkey = Rkey(record["uri"].rsplit("/", 1)[1])
    parsed = records.parse_record(collection, COLLECTIONS, block, rkey)
    valid = not isinstance(parsed, records.Invalid)
    return Listed(KINDS[collection], record["cid"], record["value"], valid)
