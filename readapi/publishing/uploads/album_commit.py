"""Writes a track and the albums that list it in one commit to the artist's repo, or not at all."""

import copy
from collections.abc import AsyncIterator, Awaitable, Callable

from readapi.errors import Conflict, NotFound
from readapi.pds.records import lists
from readapi.pds.repo import Author, Create, Pds, Record, Update, Value, Write
from readapi.pds.writing import Change, Writing, mark_edited, new_rkey
from readapi.pds.xrpc import Swapped
from readapi.state.publishing.uploads import OnAlbum
from schemas.data_model import record_cid
from schemas.ids import AtUri, Cid
from schemas.records import MAX_ITEMS
from schemas.slugs import slug

ATTEMPTS = 10

Addition = Callable[[Value, str, str], Value]  # list, the track's at-uri and CID -> the longer list


class AlbumCommit:
    """If another client changes the repo meanwhile, the commit is planned again from the new state."""

    def __init__(self, pds: Pds, writing: Writing) -> None:
        self._pds = pds
        self._writing = writing
        self._collections = writing.collections

    async def write(self, author: Author, track: AtUri, value: Value, album: OnAlbum | None) -> None:
        """Write the track unless it exists. Raises Conflict, and what `Writing.commit` raises."""

        async def plan() -> list[Write]:
            if await self._pds.get(author, track.collection, track.rkey) is not None:
                return []
            shelved = [] if album is None else [await self._shelved(author, track, value, album)]
            return [Create(track.collection, track.rkey, value), *shelved]

        await self._commit(author, plan)

    async def move(self, author: Author, track: AtUri, change: Change, album: str) -> None:
        """Change the track's record and list it on the album of that name only; an empty name: on none.

        Raises NotFound, Conflict, and what `Writing.commit` raises.
        """

        async def plan() -> list[Write]:
            found = await self._pds.get(author, track.collection, track.rkey)
            if found is None:
                raise NotFound("Your server no longer has this record.")
            value = change(copy.deepcopy(found.value))
            if value == found.value:
                return await self._moved(author, track, found.cid, album)
            value = mark_edited(value)
            update = Update(track.collection, track.rkey, value)
            return [update, *await self._moved(author, track, record_cid(value), album)]

        await self._commit(author, plan)

    async def _commit(self, author: Author, plan: Callable[[], Awaitable[list[Write]]]) -> None:
        """Plan the writes from the repo's newest commit and write them, if that is still the newest."""
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
        raise Conflict("Other programs keep changing your repo; try again later.")

    async def _moved(self, author: Author, track: AtUri, cid: Cid, name: str) -> list[Write]:
        """The writes that list the track on the album of that name only; creates a missing album."""
        collection, uri = self._collections.list, str(track)
        albums = [album async for album in self._albums(author)]
        holding = [album for album in albums if lists.holds_track(album.value, uri)]
        named = [album for album in (*holding, *albums) if name and _is_named(album, name)]
        target = named[0] if named else None
        writes: list[Write] = [
            Update(collection, album.uri.rkey, lists.remove_track(album.value, uri))
            for album in holding
            if album is not target
        ]
        if target is not None:
            longer = self._longer(target, uri, cid)
            return (
                writes if longer == target.value else [*writes, Update(collection, target.uri.rkey, longer)]
            )
        if name:
            empty = lists.new_list(collection, "album", name, None)
            writes.append(Create(collection, new_rkey(), lists.add_track(empty, uri, cid)))
        return writes

    async def _shelved(self, author: Author, track: AtUri, value: Value, album: OnAlbum) -> Write:
        """The album's list with the track at its end, in the order of uploads."""
        cid = record_cid(value)
        found = await self._album(author, album)
        if found is None:
            empty = lists.new_list(self._collections.list, "album", album.name, None)
            return Create(self._collections.list, album.new_rkey, lists.add_track(empty, str(track), cid))
        longer = self._longer(found, str(track), cid, lists.add_upload)
        return Update(self._collections.list, found.uri.rkey, longer)

    def _longer(self, album: Record, uri: str, cid: Cid, add: Addition = lists.add_track) -> Value:
        """The album's list with the track on it. Raises Conflict."""
        if not isinstance(items := album.value.get("items"), list):
            raise Conflict("The album's record on your server has no valid list of tracks.")
        if len(items) >= MAX_ITEMS and not lists.holds_track(album.value, uri):
            raise Conflict(f"An album holds at most {MAX_ITEMS} tracks.")
        return add(album.value, uri, cid)

    async def _album(self, author: Author, album: OnAlbum) -> Record | None:
        """The album's current record from the PDS: it may have been created or renamed a moment ago."""
        if album.uri is not None:
            named = await self._pds.get(author, album.uri.collection, album.uri.rkey)
            if named is None:
                raise Conflict("The album no longer exists.")
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
    """Whether the names have the same slug: the index treats such albums as one, with one URL."""
    return slug(str(album.value.get("name", ""))) == slug(name)
