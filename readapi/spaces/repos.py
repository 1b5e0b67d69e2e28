"""What somebody's own server keeps of theirs in their own Space: as `Pds` does of what is public."""

from readapi.errors import PdsRefused, PdsUnavailable
from readapi.pds import Author, Value
from readapi.xrpc import NO_SENSE, Xrpc
from schemas.ids import Cid, Nsid, Rkey
from schemas.spaces import InSpace, Space

PAGE = 100
MOST_PAGES = 20  # of a list
_SIMPLE = "com.atproto.simplespace"
_MEMBERS = {"$type": f"{_SIMPLE}.defs#memberListPolicy"}
_ANY_PROGRAM = {"$type": f"{_SIMPLE}.defs#open"}
_ABSENT = ("RecordNotFound", "RepoNotFound", "SpaceNotFound")


class SpaceRepos:
    """All raise PdsUnavailable, PdsRefused, SessionExpired and ScopeUpgradeRequired."""

    def __init__(self, xrpc: Xrpc, space_type: Nsid) -> None:
        self._xrpc = xrpc
        self._type = space_type

    async def check(self, author: Author) -> None:
        """Raises PdsRefused when the server has no Spaces, ScopeUpgradeRequired when they are not granted."""
        asked = {"spaceType": self._type, "did": author.did}
        await self._xrpc.ask(author.grant_id, "com.atproto.space.listSpaces", asked)

    async def get(self, author: Author, track: InSpace) -> Value | None:
        """The author's own record as it is there now."""
        try:
            answer = await self._xrpc.ask(author.grant_id, "com.atproto.space.getRecord", address(track))
        except PdsRefused as refusal:
            if _is_absent(refusal):
                return None
            raise
        return _value(answer)

    async def put(self, author: Author, track: InSpace, value: Value) -> None:
        """Write a record, into a Space that is made if there is none. Harmless to repeat."""
        made = {"spaceType": track.space.type, "skey": track.space.skey}
        ruled = {"readPolicy": _MEMBERS, "writePolicy": _MEMBERS, "appAccess": _ANY_PROGRAM}
        try:
            await self._xrpc.tell(author.grant_id, f"{_SIMPLE}.createSpace", {**made, **ruled})
        except PdsRefused as refusal:
            if refusal.upstream is None or refusal.upstream.error != "SpaceAlreadyExists":
                raise
        await self._xrpc.tell(
            author.grant_id, "com.atproto.space.putRecord", {**address(track), "record": value}
        )

    async def delete(self, author: Author, track: InSpace) -> None:
        """Take a record away, if it is there."""
        await self._xrpc.tell(author.grant_id, "com.atproto.space.deleteRecord", dict(address(track)))

    async def records(self, author: Author, collection: Nsid) -> list[tuple[InSpace, Cid, Value]]:
        """The author's records of a collection in their own Space, as they are told."""
        space = Space.own(author.did, self._type)
        asked = {"space": str(space), "repo": author.did, "collection": collection, "limit": str(PAGE)}
        found: list[tuple[InSpace, Cid, Value]] = []
        for _ in range(MOST_PAGES):
            try:
                page = await self._xrpc.ask(author.grant_id, "com.atproto.space.listRecords", asked)
            except PdsRefused as refusal:
                if _is_absent(refusal):
                    return found
                raise
            rows = page.get("records")
            for row in rows if isinstance(rows, list) else ():
                track = InSpace(author.did, collection, Rkey(str(_member(row, "rkey"))), space)
                found.append((track, Cid(str(_member(row, "cid"))), _value(row)))
            if not rows or not isinstance(page.get("cursor"), str):
                break
            asked["cursor"] = page["cursor"]
        return found


def address(track: InSpace) -> dict[str, str]:
    """A record's address as the methods of Spaces take it."""
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
