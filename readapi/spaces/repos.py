"""Records in an account's own Space on its PDS; the counterpart of `Pds` for public records."""

from collections.abc import AsyncIterator

from readapi.errors import PdsRefused, PdsUnavailable
from readapi.pds.repo import Author, Value
from readapi.pds.xrpc import NO_SENSE, PAGE, Xrpc, page_of
from schemas.ids import Cid, Nsid, Rkey, is_rkey
from schemas.spaces import InSpace, Space

MOST_PAGES = 20  # of a list
_SIMPLE = "com.atproto.simplespace"
_MEMBERS = {"$type": f"{_SIMPLE}.defs#memberListPolicy"}
_ANY_PROGRAM = {"$type": f"{_SIMPLE}.defs#open"}
_ABSENT = ("RecordNotFound", "RepoNotFound", "SpaceNotFound")


class SpaceRepos:
    """All methods raise PdsUnavailable, PdsRefused, SessionExpired and ScopeUpgradeRequired."""

    def __init__(self, xrpc: Xrpc, space_type: Nsid) -> None:
        self._xrpc = xrpc
        self._type = space_type

    async def check(self, author: Author) -> None:
        """Raise PdsRefused when the PDS has no Spaces, ScopeUpgradeRequired when they are not granted."""
        asked = {"spaceType": self._type, "did": author.did}
        await self._xrpc.ask(author.grant_id, "com.atproto.space.listSpaces", asked)

    async def get(self, author: Author, track: InSpace) -> Value | None:
        """The author's own record, as it is on the PDS now."""
        try:
            answer = await self._xrpc.ask(
                author.grant_id, "com.atproto.space.getRecord", record_parameters(track)
            )
        except PdsRefused as refusal:
            if _is_absent(refusal):
                return None
            raise
        return _value(answer)

    async def put(self, author: Author, track: InSpace, value: Value) -> None:
        """Write a record, and create the Space if there is none. Idempotent."""
        made = {"spaceType": track.space.type, "skey": track.space.skey}
        ruled = {"readPolicy": _MEMBERS, "writePolicy": _MEMBERS, "appAccess": _ANY_PROGRAM}
        try:
            await self._xrpc.tell(author.grant_id, f"{_SIMPLE}.createSpace", {**made, **ruled})
        except PdsRefused as refusal:
            if refusal.upstream is None or refusal.upstream.error != "SpaceAlreadyExists":
                raise
        await self._xrpc.tell(
            author.grant_id, "com.atproto.space.putRecord", {**record_parameters(track), "record": value}
        )

    async def delete(self, author: Author, track: InSpace) -> None:
        """Delete a record, if it exists."""
        await self._xrpc.tell(
            author.grant_id, "com.atproto.space.deleteRecord", dict(record_parameters(track))
        )

    async def records(self, author: Author, collection: Nsid) -> AsyncIterator[tuple[InSpace, Cid, Value]]:
        """The author's records of a collection in their own Space, MOST_PAGES pages at most."""
        space = Space.own(author.did, self._type)
        asked = {"space": str(space), "repo": author.did, "collection": collection, "limit": str(PAGE)}
        for _ in range(MOST_PAGES):
            try:
                page = await self._xrpc.ask(author.grant_id, "com.atproto.space.listRecords", asked)
            except PdsRefused as refusal:
                if _is_absent(refusal):
                    return
                raise
            rows, cursor = page_of(page)
            for row in rows:
                rkey, cid = _member(row, "rkey"), _member(row, "cid")
                if not (isinstance(rkey, str) and is_rkey(rkey) and isinstance(cid, str)):
                    raise PdsUnavailable(NO_SENSE)
                yield InSpace(author.did, collection, Rkey(rkey), space), Cid(cid), _value(row)
            if cursor is None:
                return
            asked["cursor"] = cursor


def record_parameters(track: InSpace) -> dict[str, str]:
    """A record's address as parameters of the methods for Spaces."""
    where = {"space": str(track.space), "repo": track.did}
    return {**where, "collection": track.collection, "rkey": track.rkey}


def _is_absent(refusal: PdsRefused) -> bool:
    return refusal.upstream is not None and refusal.upstream.error in _ABSENT


def _member(row: object, name: str) -> object:
    return row.get(name) if isinstance(row, dict) else None


def _value(answer: object) -> Value:
    value = _member(answer, "value")
    if not isinstance(value, dict):
        raise PdsUnavailable(NO_SENSE)
    return value
