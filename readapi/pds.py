"""A person's own server: records read and written in their name, files sent there. XRPC errors stop here."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import orjson
from pydantic import BaseModel, ValidationError

from readapi.answers import JSON
from readapi.errors import (
    ApiError,
    InvalidRequest,
    PdsRefused,
    PdsUnavailable,
    ScopeUpgradeRequired,
    SessionExpired,
    TooLarge,
)
from readapi.grants import Ended, Grants
from readapi.oauth.client import ANSWER_SECONDS, OAuthClient
from readapi.oauth.errors import Unavailable, told
from readapi.oauth.grant import Grant
from readapi.oauth.network import Body, Response
from readapi.state.grants import GrantId
from schemas.ids import AtUri, Cid, Did, Nsid, Rkey, Tid

Value = dict[str, Any]  # a record as atproto's JSON writes it

REFUSALS = (InvalidRequest, PdsUnavailable, PdsRefused, ScopeUpgradeRequired, SessionExpired)  # of a write
MOST_WRITES = 200  # in one commit: the reference server takes no more
PAGE = 100
SLOWEST_BYTES_PER_SECOND = 128 << 10  # of an upload
_REPO = "com.atproto.repo"
_SPENT_TOKEN = "invalid_token"  # noqa: S105  # a code of RFC 6750
_NO_SCOPE = ("ScopeMissingError", "insufficient_scope")
_TOO_LARGE = ("BlobTooLarge", "PayloadTooLarge")


class Author(Protocol):
    """Whoever writes, and the grant that lets us do it for them."""

    @property
    def did(self) -> Did: ...
    @property
    def grant_id(self) -> GrantId: ...


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a record."""

    uri: AtUri
    cid: Cid
    value: Value


class Create(NamedTuple):
    """A record that is not there yet."""

    collection: Nsid
    rkey: Rkey
    value: Value


class Update(NamedTuple):
    """A record in place of the one that is there."""

    collection: Nsid
    rkey: Rkey
    value: Value


class Delete(NamedTuple):
    """A record that is to go."""

    collection: Nsid
    rkey: Rkey


Write = Create | Update | Delete


class Written(NamedTuple):
    """What came of a write. `cid`: None when the record is gone."""

    uri: AtUri
    cid: Cid | None


class Head(NamedTuple):
    """A repo's newest commit."""

    commit: Cid
    rev: Tid


class Swapped(Exception):
    """Somebody else wrote in between; nothing was changed."""


class Pds:
    """Speaks to people's servers. All methods raise PdsUnavailable, PdsRefused and SessionExpired.

    Those that write raise ScopeUpgradeRequired as well.
    """

    def __init__(self, grants: Grants, oauth: OAuthClient) -> None:
        self._grants = grants
        self._oauth = oauth

    async def get(self, author: Author, collection: Nsid, rkey: Rkey) -> Record | None:
        """The record as it is there now."""
        asked = {"repo": author.did, "collection": collection, "rkey": rkey}
        try:
            return _record(await self._ask(author, f"{_REPO}.getRecord", asked))
        except PdsRefused as refusal:
            if refusal.upstream is not None and refusal.upstream.error == "RecordNotFound":
                return None
            raise

    async def records(self, author: Author, collection: Nsid) -> AsyncIterator[Record]:
        """All records of a collection, the newest first."""
        asked = {"repo": author.did, "collection": collection, "limit": str(PAGE)}
        while True:
            page = await self._ask(author, f"{_REPO}.listRecords", asked)
            found = page.get("records")
            for record in found if isinstance(found, list) else ():
                yield _record(record)
            if not found or not isinstance(page.get("cursor"), str):
                return
            asked["cursor"] = page["cursor"]

    async def head(self, author: Author) -> Head:
        """The newest commit, for writes that are to follow it at once."""
        found = await self._ask(author, "com.atproto.sync.getLatestCommit", {"did": author.did})
        return Head(Cid(str(found.get("cid"))), Tid(str(found.get("rev"))))

    async def blob_limit(self, author: Author) -> int | None:
        """The most bytes that a file may have there, if the server says so."""
        limit = (await self._ask(author, "com.atproto.server.describeServer", {})).get("blobUploadLimit")
        return limit if isinstance(limit, int) else None

    async def offers_spaces(self, author: Author) -> bool:
        """Does the server keep private Spaces, and let us see them? Others do not know the method."""
        try:
            await self._ask(author, "com.atproto.space.listSpaces", {"did": author.did})
        except (PdsRefused, ScopeUpgradeRequired):
            return False
        return True

    async def apply(
        self, author: Author, writes: Sequence[Write], *, swap_commit: Cid | None = None
    ) -> list[Written]:
        """All writes in one commit, or none. Raises Swapped when `swap_commit` is not the newest."""
        body: Value = {"repo": author.did, "writes": [_operation(write) for write in writes]}
        if swap_commit is not None:
            body["swapCommit"] = swap_commit
        answer = await self._tell(author, f"{_REPO}.applyWrites", body)
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(writes):
            raise PdsUnavailable(_NO_SENSE)
        return [
            Written(AtUri(author.did, write.collection, write.rkey), _cid(result))
            for write, result in zip(writes, results, strict=True)
        ]

    async def put(
        self, author: Author, collection: Nsid, rkey: Rkey, value: Value, *, swap: Cid | None
    ) -> Record:
        """Write a record whole, if it is still the version `swap`; None: if there is none. Raises Swapped."""
        where = {"repo": author.did, "collection": collection, "rkey": rkey}
        answer = await self._tell(
            author, f"{_REPO}.putRecord", {**where, "record": value, "swapRecord": swap}
        )
        cid = _cid(answer)
        if cid is None:
            raise PdsUnavailable(_NO_SENSE)
        return Record(AtUri(author.did, collection, rkey), cid, value)

    async def delete(self, author: Author, collection: Nsid, rkey: Rkey) -> None:
        """Take a record away, if it is there."""
        await self._tell(
            author, f"{_REPO}.deleteRecord", {"repo": author.did, "collection": collection, "rkey": rkey}
        )

    async def upload(self, author: Author, source: bytes | Path, mime_type: str) -> Value:
        """Send a file; returns the blob as records hold it. A Path is never whole in memory.

        Raises TooLarge. What no record holds the server throws away by itself.
        """
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        if isinstance(source, Path):
            await self.head(author)  # tells the nonce that the server wants, or the file would be sent twice
        answer = await self._call(
            author,
            "POST",
            f"{_REPO}.uploadBlob",
            body=source,
            mime_type=mime_type,
            timeout_seconds=ANSWER_SECONDS + size / SLOWEST_BYTES_PER_SECOND,
        )
        blob = answer.get("blob")
        if not isinstance(blob, dict):
            raise PdsUnavailable(_NO_SENSE)
        return blob

    async def _ask(self, author: Author, method: str, params: Mapping[str, str]) -> Value:
        return await self._call(author, "GET", f"{method}?{urlencode(params)}")

    async def _tell(self, author: Author, method: str, body: Value) -> Value:
        return await self._call(author, "POST", method, body=orjson.dumps(body), mime_type=JSON)

    async def _call(
        self,
        author: Author,
        verb: str,
        method: str,
        *,
        body: Body = None,
        mime_type: str | None = None,
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> Value:
        """One call; one more with a fresh token when the server does not take this one any longer."""
        headers = {} if mime_type is None else {"Content-Type": mime_type}

        async def send(grant: Grant) -> Response:
            url = f"{grant.pds}/xrpc/{method}"
            return await self._oauth.request(
                grant, verb, url, headers=headers, body=body, timeout_seconds=timeout_seconds
            )

        try:
            grant = await self._grants.fresh(author.grant_id)
            response = await send(grant)
            if response.status == 401 and _said(response).error == _SPENT_TOKEN:
                grant = await self._grants.fresh(author.grant_id, refused=grant.tokens.access_token)
                response = await send(grant)
        except Ended as error:
            raise SessionExpired(str(error)) from error
        except Unavailable as error:
            raise PdsUnavailable(error.sentence) from error
        if response.status != 200:
            raise _refusal(response)
        return _members(response)


_NO_SENSE = "Your server gave an answer that makes no sense; try again later."


def _operation(write: Write) -> Value:
    kind = type(write).__name__.lower()
    return {"$type": f"{_REPO}.applyWrites#{kind}", **write._asdict()}


def _record(found: object) -> Record:
    try:
        uri, cid, value = found["uri"], found["cid"], found["value"]  # type: ignore[index]  # or TypeError
        if isinstance(value, dict):
            return Record(AtUri.parse(uri), Cid(cid), value)
    except (LookupError, TypeError, ValueError, AttributeError):
        pass
    raise PdsUnavailable(_NO_SENSE)


def _cid(result: object) -> Cid | None:
    cid = result.get("cid") if isinstance(result, dict) else None
    return Cid(cid) if isinstance(cid, str) else None


def _members(response: Response) -> Value:
    try:
        answer = orjson.loads(response.body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise PdsUnavailable(_NO_SENSE)
    return answer


class _Problem(BaseModel):
    error: str = ""
    message: str = ""


def _said(response: Response) -> _Problem:
    try:
        return _Problem.model_validate_json(response.body)
    except ValidationError:
        return _Problem()


def _refusal(response: Response) -> ApiError | Swapped:
    """What an answer without success means."""
    problem = _said(response)
    upstream = told(problem.error, problem.message)
    if problem.error == "InvalidSwap":
        return Swapped(upstream.message)
    if problem.error == _SPENT_TOKEN:
        return SessionExpired("Your server does not take what you granted any longer; sign in again.")
    if response.status == 403 and (
        problem.error in _NO_SCOPE or problem.message.startswith("Missing required scope")
    ):
        return ScopeUpgradeRequired()
    if response.status == 413 or problem.error in _TOO_LARGE:
        return TooLarge("The file is larger than your own server takes.")
    if response.status >= 500 and response.status != 501:
        return PdsUnavailable("Your own server cannot do this just now; try again later.", upstream=upstream)
    said = upstream.message or upstream.error or f"status {response.status}"
    return PdsRefused(f"Your own server refused: {said.rstrip('.')}.", upstream=upstream)
