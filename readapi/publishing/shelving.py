"""A track and the albums that hold it: changed in one commit at the artist's own server, or not at all."""

import copy
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable

import libipld

from readapi.authoring import lists
from readapi.errors import Conflict, NotFound
from readapi.pds import Author, Create, Pds, Record, Update, Value, Write
from readapi.state.uploads import OnAlbum
from readapi.writing import Change, Writing, new_rkey
from readapi.xrpc import Swapped
from schemas import data_model
from schemas.ids import AtUri, Cid
from schemas.records import MAX_ITEMS
from schemas.slugs import slug

ATTEMPTS = 10
_RECORD_CID = b"\x01\x71\x12\x20"  # version 1, DAG-CBOR, SHA-256 of 32 bytes


class Shelving:
    """Another program may change the repo in between: then the commit is planned again from what is there."""

    def __init__(self, pds: Pds, writing: Writing) -> None:
        self._pds = pds
        self._writing = writing
        self._collections = writing.collections

    async def write(self, author: Author, track: AtUri, value: Value, album: OnAlbum | None) -> None:
        """Write the track unless it is there. Raises Conflict, and what `Writing.commit` raises."""

        async def plan() -> list[Write]:
            if await self._pds.get(author, track.collection, track.rkey) is not None:
                return []
            shelved = [] if album is None else [await self._shelved(author, track, value, album)]
            return [Create(track.collection, track.rkey, value), *shelved]

        await self._commit(author, plan)

    async def move(self, author: Author, track: AtUri, change: Change, album: str) -> None:
        """Change the track's record and put it on the album of that name alone; an empty name: on none.

        Raises NotFound, Conflict, and what `Writing.commit` raises.
        """

        async def plan() -> list[Write]:
            found = await self._pds.get(author, track.collection, track.rkey)
            if found is None:
                raise NotFound("Your server has no such record any more.")
            value = change(copy.deepcopy(found.value))
            if value == found.value:
                return await self._moved(author, track, found.cid, album)
            update = Update(track.collection, track.rkey, value)
            return [update, *await self._moved(author, track, record_cid(value), album)]

        await self._commit(author, plan)

    async def _commit(self, author: Author, plan: Callable[[], Awaitable[list[Write]]]) -> None:
        """Write what is planned from the repo's newest commit, which the new one must follow."""
        for _ in range(ATTEMPTS):
            head = await self._pds.head(author)
            writes = await plan()
            if not writes:
                return
            try:
                await self._writing.commit(author, *writes, swap_commit=head.commit)
            except Swapped:
                continue
            return
        raise Conflict("Your repo is being changed all the time; try again later.")

    async def _moved(self, author: Author, track: AtUri, cid: Cid, name: str) -> list[Write]:
        """The changes that leave the track on the album of that name, made if there is none, and no other."""
        collection, uri = self._collections.list, str(track)
        albums = [album async for album in self._albums(author)]
        holding = [album for album in albums if lists.holds(album.value, uri)]
        named = [album for album in (*holding, *albums) if name and _is_named(album, name)]
        target = named[0] if named else None
        writes: list[Write] = [
            Update(collection, album.uri.rkey, lists.without_track(album.value, uri))
            for album in holding
            if album is not target
        ]
        if target is not None:
            longer = self._longer(target, uri, cid)
            return (
                writes if longer == target.value else [*writes, Update(collection, target.uri.rkey, longer)]
            )
        if name:
            empty = lists.new(collection, "album", name, None)
            writes.append(Create(collection, new_rkey(), lists.with_track(empty, uri, cid)))
        return writes

    async def _shelved(self, author: Author, track: AtUri, value: Value, album: OnAlbum) -> Write:
        """The album's list with the track at its end."""
        cid = record_cid(value)
        found = await self._album(author, album)
        if found is None:
            empty = lists.new(self._collections.list, "album", album.name, None)
            return Create(self._collections.list, album.new_rkey, lists.with_track(empty, str(track), cid))
        return Update(self._collections.list, found.uri.rkey, self._longer(found, str(track), cid))

    def _longer(self, album: Record, uri: str, cid: Cid) -> Value:
        """The album's list with the track on it. Raises Conflict."""
        if not isinstance(items := album.value.get("items"), list):
            raise Conflict("The album's record does not say what it should of its tracks.")
        if len(items) >= MAX_ITEMS and not lists.holds(album.value, uri):
            raise Conflict(f"An album holds {MAX_ITEMS} tracks at most.")
        return lists.with_track(album.value, uri, cid)

    async def _album(self, author: Author, album: OnAlbum) -> Record | None:
        """The list that is meant, as it is now: it may have been made or renamed a moment ago."""
        if album.uri is not None:
            named = await self._pds.get(author, album.uri.collection, album.uri.rkey)
            if named is None:
                raise Conflict("The album is gone.")
            return named
        async for record in self._albums(author):
            if _is_named(record, album.name):
                return record
        return None

    async def _albums(self, author: Author) -> AsyncIterator[Record]:
        async for record in self._pds.records(author, self._collections.list):
            if record.value.get("listType") == "album":
                yield record


def _is_named(album: Record, name: str) -> bool:
    """Albums whose names make the same slug share an address, so the index takes them for one."""
    return slug(str(album.value.get("name", ""))) == slug(name)


def record_cid(value: Value) -> Cid:
    """The CID that a record will have."""
    return block_cid(libipld.encode_dag_cbor(data_model.read(value)))


def block_cid(block: bytes) -> Cid:
    """The CID of a record as DAG-CBOR."""
    return Cid(libipld.encode_cid(_RECORD_CID + hashlib.sha256(block).digest()))
