"""Repository operations at an account's PDS: reads and writes records, uploads blobs.

Answers are checked against the request: addresses, hashes, and that lists end.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import libipld

from readapi.errors import (
    InvalidRequest,
    PdsRefused,
    PdsUnavailable,
    ScopeUpgradeRequired,
    SessionExpired,
    TooLarge,
)
from readapi.oauth.client import ANSWER_SECONDS
from readapi.pds.xrpc import NO_SENSE, PAGE, TOO_LARGE, Xrpc, page_of
from readapi.state.sign_in.grants import GrantId
from schemas.fields import AUDIO, IMAGE
from schemas.ids import AtUri, Cid, Did, Nsid, Rkey, Tid, is_cid, is_tid

Value = dict[str, Any]  # a record as atproto's JSON writes it

REFUSALS = (InvalidRequest, PdsUnavailable, PdsRefused, ScopeUpgradeRequired, SessionExpired)  # of a write
MOST_PAGES = 100
LISTING_SECONDS = 120.0  # for all pages together
SLOWEST_BYTES_PER_SECOND = 128 << 10  # of an upload
ENDLESS = "Your server lists more records than this service can read."
_REPO = "com.atproto.repo"
_MIME_TYPE = re.compile(r"[a-z]{1,20}/[\x20-\x7e]{1,100}")  # with parameters: audio/ogg; codecs=opus
_BLOB_CID = b"\x01\x55\x12\x20"  # version 1, raw bytes, SHA-256 of 32 bytes


class Author(Protocol):
    """The account that writes, and the grant to write with."""

    @property
    def did(self) -> Did: ...
    @property
    def grant_id(self) -> GrantId: ...


@dataclass(frozen=True, slots=True)
class Record:
    """A record in one version."""

    uri: AtUri
    cid: Cid
    value: Value


class Create(NamedTuple):
    """Create a record."""

    collection: Nsid
    rkey: Rkey
    value: Value


class Update(NamedTuple):
    """Replace a record."""

    collection: Nsid
    rkey: Rkey
    value: Value


class Delete(NamedTuple):
    """Delete a record."""

    collection: Nsid
    rkey: Rkey


Write = Create | Update | Delete


class WriteResult(NamedTuple):
    """The result of a write. `cid`: None after a deletion."""

    uri: AtUri
    cid: Cid | None


class Head(NamedTuple):
    """A repo's newest commit."""

    commit: Cid
    rev: Tid


class Pds:
    """Requests to accounts' servers. All methods raise PdsUnavailable, PdsRefused and SessionExpired.

    Those that write raise ScopeUpgradeRequired as well.
    """

    def __init__(self, xrpc: Xrpc) -> None:
        self.xrpc = xrpc

    async def get(self, author: Author, collection: Nsid, rkey: Rkey) -> Record | None:
        """The current version of a record."""
        asked = {"repo": author.did, "collection": collection, "rkey": rkey}
        try:
            found = await self.xrpc.ask(author.grant_id, f"{_REPO}.getRecord", asked)
        except PdsRefused as refusal:
            if refusal.upstream is not None and refusal.upstream.error == "RecordNotFound":
                return None
            raise
        record = _record(found, author, collection)
        if record.uri.rkey != rkey:
            raise PdsUnavailable(NO_SENSE)
        return record

    async def records(self, author: Author, collection: Nsid) -> AsyncIterator[Record]:
        """All records of a collection, the newest first. Raises PdsRefused after MOST_PAGES."""
        asked = {"repo": author.did, "collection": collection, "limit": str(PAGE)}
        until = asyncio.get_running_loop().time() + LISTING_SECONDS
        for _ in range(MOST_PAGES):
            found, cursor = page_of(await self.xrpc.ask(author.grant_id, f"{_REPO}.listRecords", asked))
            for record in found:
                yield _record(record, author, collection)
            if cursor is None:
                return
            if asyncio.get_running_loop().time() > until:
                raise PdsUnavailable("Your server takes too long to list your records; try again later.")
            asked["cursor"] = cursor
        raise PdsRefused(ENDLESS)

    async def head(self, author: Author) -> Head:
        """The newest commit, for writes with `swap_commit`."""
        asked = {"did": author.did}
        found = await self.xrpc.ask(author.grant_id, "com.atproto.sync.getLatestCommit", asked)
        rev = found.get("rev")
        if not isinstance(rev, str) or not is_tid(rev):
            raise PdsUnavailable(NO_SENSE)
        return Head(_cid(found), Tid(rev))

    async def blob_limit(self, author: Author) -> int | None:
        """The server's limit for a blob in bytes, if it states one."""
        try:
            said = await self.xrpc.ask(author.grant_id, "com.atproto.server.describeServer", {})
        except PdsRefused:
            return None
        limit = said.get("blobUploadLimit")
        return limit if type(limit) is int else None

    async def apply(
        self, author: Author, writes: Sequence[Write], *, swap_commit: Cid | None = None
    ) -> list[WriteResult]:
        """Apply all writes in one commit, or none. Raises Swapped when `swap_commit` is not the newest."""
        body: Value = {"repo": author.did, "writes": [_operation(write) for write in writes]}
        if swap_commit is not None:
            body["swapCommit"] = swap_commit
        answer = await self.xrpc.tell(author.grant_id, f"{_REPO}.applyWrites", body)
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(writes):
            raise PdsUnavailable(NO_SENSE)
        return [
            WriteResult(
                AtUri(author.did, write.collection, write.rkey),
                None if isinstance(write, Delete) else _cid(result),
            )
            for write, result in zip(writes, results, strict=True)
        ]

    async def put(
        self, author: Author, collection: Nsid, rkey: Rkey, value: Value, *, swap: Cid | None
    ) -> Record:
        """Write a record if its version is still `swap`; None: if it does not exist. Raises Swapped."""
        where = {"repo": author.did, "collection": collection, "rkey": rkey}
        body = {**where, "record": value, "swapRecord": swap}
        answer = await self.xrpc.tell(author.grant_id, f"{_REPO}.putRecord", body)
        return Record(AtUri(author.did, collection, rkey), _cid(answer), value)

    async def delete(self, author: Author, collection: Nsid, rkey: Rkey) -> None:
        """Delete a record, if it exists."""
        where = {"repo": author.did, "collection": collection, "rkey": rkey}
        await self.xrpc.tell(author.grant_id, f"{_REPO}.deleteRecord", where)

    async def upload(self, author: Author, source: bytes | Path, mime_type: str) -> Value:
        """Upload a blob; returns the blob reference for records. A Path is streamed.

        Raises TooLarge, before anything is sent where the server states its limit. The server deletes a blob
        that no record refers to.
        """
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if isinstance(source, Path):
            limit = await self.blob_limit(author)
            if limit is not None and size > limit:
                raise TooLarge(TOO_LARGE)
            await self.head(author)  # fetches the current DPoP nonce, or the file would be sent twice
        seconds = ANSWER_SECONDS + size / SLOWEST_BYTES_PER_SECOND
        answer = await self.xrpc.send(author.grant_id, f"{_REPO}.uploadBlob", source, mime_type, seconds)
        return _blob(answer, await asyncio.to_thread(_digest, source), size, mime_type)


def _operation(write: Write) -> Value:
    kind = type(write).__name__.lower()
    return {"$type": f"{_REPO}.applyWrites#{kind}", **write._asdict()}


def _record(found: object, author: Author, collection: Nsid) -> Record:
    """Validate a record of the author in the collection."""
    try:
        uri, value = AtUri.parse(found["uri"]), found["value"]  # type: ignore[index]  # or TypeError
    except (LookupError, TypeError, ValueError, AttributeError):
        raise PdsUnavailable(NO_SENSE) from None
    if (uri.did, uri.collection) != (author.did, collection) or not isinstance(value, dict):
        raise PdsUnavailable(NO_SENSE)
    return Record(uri, _cid(found), value)


def _cid(found: object) -> Cid:
    cid = found.get("cid") if isinstance(found, dict) else None
    if not isinstance(cid, str) or not is_cid(cid):
        raise PdsUnavailable(NO_SENSE)
    return Cid(cid)


def _blob(answer: Value, digest: bytes, size: int, mime_type: str) -> Value:
    """Validate the blob reference. Its media type is the server's choice, by content."""
    blob, ref = answer.get("blob"), {"$link": libipld.encode_cid(_BLOB_CID + digest)}
    if not isinstance(blob, dict) or (blob.get("ref"), blob.get("size")) != (ref, size):
        raise PdsUnavailable(NO_SENSE)
    told = blob.get("mimeType")
    if not isinstance(told, str) or not _MIME_TYPE.fullmatch(told):
        raise PdsUnavailable(NO_SENSE)
    rule = AUDIO if AUDIO.takes(mime_type) else IMAGE
    if not rule.takes(told):
        raise PdsRefused(f"Your own server takes the file for {told}, which is no {rule.family}.")
    return {"$type": "blob", "ref": ref, "mimeType": told, "size": size}


def _digest(source: bytes | Path) -> bytes:
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
