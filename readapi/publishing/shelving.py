"""A new track and the album that it goes on: one commit at the artist's own server, or nothing."""

import hashlib

import libipld

from readapi.authoring import lists
from readapi.errors import Conflict
from readapi.pds import Author, Create, Pds, Record, Update, Value, Write
from readapi.state.uploads import OnAlbum
from readapi.writing import Writing
from readapi.xrpc import Swapped
from schemas import data_model
from schemas.ids import AtUri, Cid
from schemas.records import MAX_ITEMS
from schemas.slugs import slug

ATTEMPTS = 10
_RECORD_CID = b"\x01\x71\x12\x20"  # version 1, DAG-CBOR, SHA-256 of 32 bytes


class Shelving:
    """Whoever else changes the repo in between, the track is written once, and its album has it."""

    def __init__(self, pds: Pds, writing: Writing) -> None:
        self._pds = pds
        self._writing = writing
        self._collections = writing.collections

    async def write(self, author: Author, track: AtUri, value: Value, album: OnAlbum | None) -> None:
        """Write the track unless it is there. Raises Conflict, and what `Writing.commit` raises."""
        create = Create(track.collection, track.rkey, value)
        for _ in range(ATTEMPTS):
            head = await self._pds.head(author)
            if await self._pds.get(author, track.collection, track.rkey) is not None:
                return
            shelved = [] if album is None else [await self._shelved(author, track, value, album)]
            try:
                await self._writing.commit(author, create, *shelved, swap_commit=head.commit)
            except Swapped:
                continue
            return
        raise Conflict("Your repo is being changed all the time; try again later.")

    async def _shelved(self, author: Author, track: AtUri, value: Value, album: OnAlbum) -> Write:
        """The album's list with the track at its end."""
        cid = record_cid(value)
        found = await self._album(author, album)
        if found is None:
            empty = lists.new(self._collections.list, "album", album.name, None)
            return Create(self._collections.list, album.new_rkey, lists.with_track(empty, str(track), cid))
        if not isinstance(items := found.value.get("items"), list):
            raise Conflict("The album's record does not say what it should of its tracks.")
        if len(items) >= MAX_ITEMS:
            raise Conflict(f"An album holds {MAX_ITEMS} tracks at most.")
        longer = lists.with_track(found.value, str(track), cid)
        return Update(self._collections.list, found.uri.rkey, longer)

    async def _album(self, author: Author, album: OnAlbum) -> Record | None:
        """The list that is meant, as it is now: it may have been made or renamed a moment ago."""
        if album.uri is not None:
            named = await self._pds.get(author, album.uri.collection, album.uri.rkey)
            if named is None:
                raise Conflict("The album is gone.")
            return named
        async for record in self._pds.records(author, self._collections.list):
            is_album = record.value.get("listType") == "album"
            if is_album and slug(str(record.value.get("name", ""))) == slug(album.name):
                return record
        return None


def record_cid(value: Value) -> Cid:
    """The CID that a record will have."""
    return block_cid(libipld.encode_dag_cbor(data_model.read(value)))


def block_cid(block: bytes) -> Cid:
    """The CID of a record as DAG-CBOR."""
    return Cid(libipld.encode_cid(_RECORD_CID + hashlib.sha256(block).digest()))
