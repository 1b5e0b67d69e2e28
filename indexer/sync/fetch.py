"""Fetches all records of our collections in one repo from the account's PDS.

The sparse way requests the tree's nodes around our collections and then our records, so that the records of
other applications in the same repo cost nothing. A PDS that cannot do that sends the whole repo, to disk.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import libipld

from indexer.network import xrpc
from indexer.network.http.client import Answered, Outbound, TooLarge, Unreachable
from indexer.repo import car
from indexer.repo.car import Car, CarError
from indexer.repo.extract import MAX_BYTES, Fetched, RepoSlice, TooMuch, Trail
from indexer.repo.signing_keys import Key
from indexer.sync.spool import Spool, Spools
from schemas.ids import Did, Nsid

REQUEST_SECONDS: Final = 30.0
WHOLE_SECONDS: Final = 600.0  # a repo of REPO_BYTES needs 1.8 MB/s for that
SPARSE_SECONDS: Final = 300.0
SPARSE_BLOCKS: Final = 40_000  # with more, the whole repo is cheaper
SPARSE_BYTES: Final = MAX_BYTES // 4  # in memory, for each repo that is being fetched
SPARSE_ATTEMPTS: Final = 3
ASKED_AT_ONCE: Final = 100  # many servers read no request line of more than 8 KB
ANSWER_BYTES: Final = 16 << 20
REPO_BYTES: Final = 1 << 30


class _Moved(Exception):
    """A block of the commit is gone: the repo has a newer commit by now."""


class _NotSparse(Exception):
    """The PDS, or this repo, is not suited to the sparse way."""


async def fetch_repo(
    outbound: Outbound,
    pds: str,
    did: Did,
    key: Key,
    collections: frozenset[Nsid],
    now: datetime,
    *,
    spools: Spools,
) -> Fetched:
    """Fetch all records of these collections, verified and complete.

    Raises RepoGone or OutboundError, TooLarge among them, and Refused, CarError or MstError when the
    verification fails.
    """
    server, wanted = _Server(outbound, pds, did), RepoSlice(did, key, collections, now)
    try:
        try:
            return await _sparsely(server, wanted)
        except _NotSparse:
            return await _wholly(server, wanted, spools)
    except Answered as refusal:
        if state := xrpc.gone_state(refusal):
            raise state from refusal
        raise
    except TooMuch as error:
        raise TooLarge(str(error)) from error


async def _sparsely(server: "_Server", wanted: RepoSlice) -> Fetched:
    try:
        async with asyncio.timeout(SPARSE_SECONDS):
            for _ in range(SPARSE_ATTEMPTS):
                try:
                    return await _attempt(server, wanted)
                except _Moved:
                    continue
    except TimeoutError:
        raise Unreachable(f"not all of the repo came within {SPARSE_SECONDS:g} s") from None
    raise _NotSparse


async def _attempt(server: "_Server", wanted: RepoSlice) -> Fetched:
    proof = await server.proof(min(wanted.collections))
    blocks = proof.blocks
    head = wanted.head(proof.roots, blocks.get)
    if head.data in blocks and wanted.is_most(blocks[head.data]):
        raise _NotSparse
    trail = Trail(wanted, head)
    while missing := await asyncio.to_thread(trail.follow, blocks.get):
        await server.add(blocks, missing)
    await server.add(blocks, trail.paths.values())
    return await asyncio.to_thread(wanted.fetched, head, trail.paths, blocks.get)


async def _wholly(server: "_Server", wanted: RepoSlice, spools: Spools) -> Fetched:
    with spools.open() as spool:
        await server.spool(spool)
        return await asyncio.to_thread(_read, wanted, spool)


def _read(wanted: RepoSlice, spool: Spool) -> Fetched:
    head = wanted.head(spool.index(), spool.get)
    return wanted.fetched(head, wanted.paths(head, spool.get), spool.get)


@dataclass(frozen=True, slots=True)
class _Server:
    """One repo at its PDS."""

    outbound: Outbound
    pds: str
    did: Did

    async def proof(self, collection: Nsid) -> Car:
        """Fetch the commit, and the path to where the collection's record `self` is or would be."""
        url = xrpc.query_url(
            self.pds, "com.atproto.sync.getRecord", did=self.did, collection=collection, rkey="self"
        )
        try:
            return await self._car(url)
        except Answered as refusal:
            if refusal.transient or xrpc.gone_state(refusal):
                raise
            raise _NotSparse from None

    async def add(self, blocks: dict[bytes, bytes], cids: Iterable[bytes]) -> None:
        """Fetch the missing blocks of these CIDs into `blocks`. Raises _Moved when the PDS lacks one."""
        wanted = [cid for cid in dict.fromkeys(cids) if cid not in blocks]
        if len(blocks) + len(wanted) > SPARSE_BLOCKS:
            raise _NotSparse
        held = sum(map(len, blocks.values()))
        for start in range(0, len(wanted), ASKED_AT_ONCE):
            asked = wanted[start : start + ASKED_AT_ONCE]
            found = await self._blocks(asked)
            if any(cid not in found for cid in asked):
                raise _Moved
            held += sum(len(found[cid]) for cid in asked)
            if held > SPARSE_BYTES:
                raise _NotSparse
            blocks.update((cid, found[cid]) for cid in asked)

    async def spool(self, spool: Spool) -> None:
        """Write the whole repo to a spool."""
        url = xrpc.query_url(self.pds, "com.atproto.sync.getRepo", did=self.did)
        await self.outbound.stream(url, spool.write, REPO_BYTES, REQUEST_SECONDS, WHOLE_SECONDS)

    async def _blocks(self, cids: list[bytes]) -> dict[bytes, bytes]:
        names = [libipld.encode_multibase("b", cid) for cid in cids]
        url = xrpc.query_url(self.pds, "com.atproto.sync.getBlocks", did=self.did, cids=names)
        try:
            return (await self._car(url)).blocks
        except Answered as refusal:
            if refusal.transient or xrpc.gone_state(refusal):
                raise
            # The protocol has an error name for missing blocks, which not every PDS uses.
            raise (_NotSparse if xrpc.is_lacking(refusal) else _Moved) from None

    async def _car(self, url: str) -> Car:
        answer = self.outbound.fetch(url, ANSWER_BYTES, REQUEST_SECONDS)
        try:
            return car.read_car(await answer, ANSWER_BYTES)
        except (CarError, TooLarge):
            raise _NotSparse from None
