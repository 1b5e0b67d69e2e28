"""Tracks by whatever somebody calls them: those of the index, and those that a Space shows to this person."""

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from readapi.audio.blobs import cid_of
from readapi.audio.entry import Entry
from readapi.audio.sources import Sources
from readapi.errors import ApiError, Conflict, NotFound, PdsUnavailable, ScopeUpgradeRequired, SpaceRefused
from readapi.pds import Value
from readapi.publishing import carried
from readapi.queries import names, people, tracks
from readapi.search import Index
from readapi.spaces import cards
from readapi.spaces.cards import SpaceCard
from readapi.spaces.hosts import LATER, Hosts
from readapi.spaces.keyring import Keyring, Pass
from readapi.spaces.repos import SpaceRepos, address
from readapi.state.state import State
from readapi.viewer import SignedIn
from schemas import spaces
from schemas.access import Viewer
from schemas.ids import Cid, Did, checked_id
from schemas.records import Track
from schemas.settings import Settings
from schemas.spaces import InSpace, Space
from schemas.stored import Card

_REFUSALS = (401, 403)


class Found(NamedTuple):
    """A track, and whoever asked for it: let into its Space, if it is in one."""

    card: Card
    viewer: Viewer | None


@dataclass(frozen=True, slots=True)
class _Admitted:
    """Somebody with a pass, who wants a recording."""

    who: SignedIn
    space: Space
    held: Pass
    hosts: Hosts
    keyring: Keyring

    @property
    def name(self) -> str:
        return str(self.space)

    def request(self, server: str, did: Did, cid: Cid) -> tuple[str, dict[str, str]]:
        asked = urlencode({"space": str(self.space), "repo": did, "cid": cid})
        url = f"{server}/xrpc/com.atproto.space.getBlob?{asked}"
        return url, self.hosts.headers(url, self.held.key, self.held.credential)

    def refused(self) -> ApiError:
        return self.keyring.refuse(self.who, self.space)


class Finder:
    """Asks the index first: what is public needs nobody's leave."""

    def __init__(
        self,
        settings: Settings,
        index: Index,
        state: State,
        repos: SpaceRepos,
        keyring: Keyring,
        hosts: Hosts,
        sources: Sources,
    ) -> None:
        self._collections = settings.collections
        self._base_url = settings.base_url
        self._index = index
        self._known = state.space_tracks
        self._uploads = state.uploads
        self._repos = repos
        self._keyring = keyring
        self._hosts = hosts
        self._sources = sources

    async def find(self, name: str, who: SignedIn | None) -> Found:
        """The track with an id or an at-uri. Raises NotFound, and for what is in a Space whatever that says.

        That is SpaceRefused, PdsUnavailable, ScopeUpgradeRequired or SessionExpired.
        """
        viewer = None if who is None else who.viewer
        try:
            return Found(tracks.find(self._index, name, viewer), viewer)
        except NotFound:
            track = None if who is None else await self._in_a_space(name)
            if who is None or track is None:
                raise
        card = await self._read(track, who)
        return Found(card, dataclasses.replace(who.viewer, admitted=track.space))

    async def show(self, name: str, who: SignedIn | None) -> Found:
        """The same for those who look at it: what they are refused or may not ask for they do not know of."""
        try:
            return await self.find(name, who)
        except (SpaceRefused, ScopeUpgradeRequired):
            raise NotFound(tracks.NO_SUCH_TRACK) from None

    async def own(self, who: SignedIn) -> list[Card]:
        """Somebody's own tracks in their Space, as far as their session may see them."""
        if not await self._known.any_of(who.did):
            return []
        found: list[Card] = []
        try:
            async for track, cid, value in self._repos.records(who, self._collections.track):
                record = await asyncio.to_thread(cards.read, track, cid, value, self._collections)
                if record is not None:
                    found.append(self._card(track, cid, record, None))
        except ScopeUpgradeRequired:
            return []
        return found

    async def delete(self, name: str, who: SignedIn) -> bool:
        """Delete somebody's own track in a Space, and what the cache has of it; False: it is none."""
        track = await self._in_a_space(name)
        if track is None or track.did != who.did:
            return False
        value = await self._repos.get(who, track)
        await self._repos.delete(who, track)
        await self._known.remove(track)
        if value is not None and (cid := _recording(value)) is not None:
            self._sources.forget_private(track, cid)
        await self._uploads.note_deletion(track)
        return True

    async def _in_a_space(self, name: str) -> InSpace | None:
        """The address that a name stands for, if it is of a track in a Space of ours."""
        plain, _, check = name.partition("-")
        number = names.track_id(plain)
        try:
            track = spaces.parse(name) if number is None else await self._known.find(number)
        except ValueError:
            return None
        if number is not None and check and (track is None or checked_id(str(track)) != name):
            return None
        if not isinstance(track, InSpace) or track.space.type != self._collections.space:
            return None
        return track if track.collection == self._collections.track else None

    async def _read(self, track: InSpace, who: SignedIn) -> SpaceCard:
        held = await self._keyring.find(who, track.space)
        server = (await self._hosts.of(track.did)).pds
        if server is None:
            raise NotFound(tracks.NO_SUCH_TRACK)
        response = await self._hosts.get(
            server, "com.atproto.space.getRecord", address(track), held.key, held.credential
        )
        if response.status in _REFUSALS:
            raise self._keyring.refuse(who, track.space)
        if response.status != 200:
            raise NotFound(tracks.NO_SUCH_TRACK)
        cid, record = await asyncio.to_thread(self._record, track, response.body)
        return self._card(track, cid, record, _Admitted(who, track.space, held, self._hosts, self._keyring))

    def _record(self, track: InSpace, body: bytes) -> tuple[Cid, Track]:
        """What the server says the record is. Raises PdsUnavailable when it contradicts itself."""
        try:
            told = orjson.loads(body)
            uri, cid, value = told["uri"], told["cid"], told["value"]
        except (ValueError, LookupError, TypeError) as error:
            raise PdsUnavailable(LATER) from error
        record = cards.read(track, cid, value, self._collections)
        if uri != str(track) or record is None:
            raise PdsUnavailable(LATER)
        return cid, record

    def _card(self, track: InSpace, cid: Cid, record: Track, entry: Entry | None) -> SpaceCard:
        named = people.named(self._index, {track.did, *(feature.did for feature in record.features or ())})
        return cards.card(track, cid, record, named, self._base_url, entry)


def _recording(value: Value) -> Cid | None:
    """The blob that a record says its recording is."""
    try:
        return cid_of(carried.digest_in(value.get("audioBlob")))
    except Conflict:
        return None
