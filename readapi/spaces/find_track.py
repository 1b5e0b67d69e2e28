"""Finds a track by id or AT URI: in the index, or in a private Space that admits the viewer."""

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from readapi.audio import in_record
from readapi.audio.blob_access import BlobAccess, SpaceCard
from readapi.audio.blob_cache import cid_of
from readapi.audio.select import AudioSelection
from readapi.errors import ApiError, Conflict, NotFound, PdsUnavailable, ScopeUpgradeRequired, SpaceRefused
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import artists, identifiers, tracks
from readapi.pds.repo import Value
from readapi.spaces import cards
from readapi.spaces.hosts import LATER, SpaceHosts
from readapi.spaces.passes import SpaceCredential, SpaceCredentialCache
from readapi.spaces.repos import SpaceRepos, record_parameters
from readapi.state.state import State
from schemas import spaces
from schemas.access import Viewer
from schemas.ids import AtUri, Cid, Did, checked_id
from schemas.records import Track
from schemas.settings import Settings
from schemas.spaces import InSpace, Space
from schemas.stored import Card

_REFUSALS = (401, 403)


class FoundTrack(NamedTuple):
    """A track and its viewer, who is admitted to the Space if the track is in one."""

    card: Card
    viewer: Viewer | None


@dataclass(frozen=True, slots=True)
class _SpaceBlobAccess:
    """Requests for one audio blob in a Space, with the viewer's credential."""

    who: SignedIn
    space: Space
    held: SpaceCredential
    hosts: SpaceHosts
    credentials: SpaceCredentialCache

    @property
    def name(self) -> str:
        return str(self.space)

    def request(self, server: str, did: Did, cid: Cid) -> tuple[str, dict[str, str]]:
        asked = urlencode({"space": str(self.space), "repo": did, "cid": cid})
        url = f"{server}/xrpc/com.atproto.space.getBlob?{asked}"
        return url, self.hosts.headers(url, self.held.key, self.held.credential)

    def refused(self) -> ApiError:
        return self.credentials.refuse(self.who, self.space)


class SpaceTrackFinder:
    """Asks the index first: public tracks need no Space credential."""

    def __init__(
        self,
        settings: Settings,
        index: Index,
        state: State,
        repos: SpaceRepos,
        credentials: SpaceCredentialCache,
        hosts: SpaceHosts,
        sources: AudioSelection,
    ) -> None:
        self._collections = settings.collections
        self._base_url = settings.base_url
        self._index = index
        self._known = state.space_tracks
        self._uploads = state.uploads
        self._repos = repos
        self._credentials = credentials
        self._hosts = hosts
        self._sources = sources

    async def find(self, name: str, who: SignedIn | None) -> FoundTrack:
        """The track with an id or an AT URI. Raises NotFound.

        For a track in a Space also SpaceRefused, PdsUnavailable, ScopeUpgradeRequired and SessionExpired.
        """
        viewer = None if who is None else who.viewer
        try:
            return FoundTrack(tracks.find_track(self._index, name, viewer), viewer)
        except NotFound:
            # An account that granted nothing here cannot be let into a Space by this service.
            track = None if who is None or not who.scopes else await self._in_a_space(name)
            if who is None or track is None or self._is_taken_down(track):
                raise
        card = await self._read(track, who)
        return FoundTrack(card, dataclasses.replace(who.viewer, admitted=track.space))

    async def show(self, name: str, who: SignedIn | None) -> FoundTrack:
        """As `find`, but raise NotFound for a refusal, so that it does not reveal that the track exists."""
        try:
            return await self.find(name, who)
        except (SpaceRefused, ScopeUpgradeRequired):
            raise NotFound(tracks.NO_SUCH_TRACK) from None

    async def own(self, who: SignedIn) -> list[Card]:
        """The account's own tracks in its Space; none if the session's scopes do not include Spaces."""
        if not await self._known.any_of(who.did):
            return []
        found: list[Card] = []
        try:
            async for track, cid, value in self._repos.records(who, self._collections.track):
                record = await asyncio.to_thread(cards.parse_track, track, cid, value, self._collections)
                if record is not None and not self._is_taken_down(track):
                    found.append(self._card(track, cid, record, None))
        except ScopeUpgradeRequired:
            return []
        return found

    async def delete(self, name: str, who: SignedIn) -> bool:
        """Delete the account's own track in a Space, and its cached audio; False if there is none."""
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
        """The address of the track with this id or AT URI, if it is in a Space of this service's type."""
        plain, _, check = name.partition("-")
        number = identifiers.parse_track_id(plain)
        try:
            track = spaces.parse_address(name) if number is None else await self._known.find(number)
        except ValueError:
            return None
        if number is not None and check and (track is None or checked_id(str(track)) != name):
            return None
        if not isinstance(track, InSpace) or track.space.type != self._collections.space:
            return None
        return track if track.collection == self._collections.track else None

    def _is_taken_down(self, track: AtUri) -> bool:
        return self._index.takedowns.now.covers_any((track.did, str(track)))

    async def _read(self, track: InSpace, who: SignedIn) -> SpaceCard:
        held = await self._credentials.find(who, track.space)
        server = (await self._hosts.of(track.did)).pds
        if server is None:
            raise NotFound(tracks.NO_SUCH_TRACK)
        response = await self._hosts.get(
            server, "com.atproto.space.getRecord", record_parameters(track), held.key, held.credential
        )
        if response.status in _REFUSALS:
            raise self._credentials.refuse(who, track.space)
        if response.status != 200:
            raise NotFound(tracks.NO_SUCH_TRACK)
        cid, record = await asyncio.to_thread(self._record, track, response.body)
        return self._card(
            track, cid, record, _SpaceBlobAccess(who, track.space, held, self._hosts, self._credentials)
        )

    def _record(self, track: InSpace, body: bytes) -> tuple[Cid, Track]:
        """Parse the server's answer. Raises PdsUnavailable when it is inconsistent."""
        try:
            told = orjson.loads(body)
            uri, cid, value = told["uri"], told["cid"], told["value"]
        except (ValueError, LookupError, TypeError) as error:
            raise PdsUnavailable(LATER) from error
        record = cards.parse_track(track, cid, value, self._collections)
        if uri != str(track) or record is None:
            raise PdsUnavailable(LATER)
        return cid, record

    def _card(self, track: InSpace, cid: Cid, record: Track, entry: BlobAccess | None) -> SpaceCard:
        named = artists.name_people(
            self._index, {track.did, *(feature.did for feature in record.features or ())}
        )
        return cards.make_card(track, cid, record, named, self._base_url, entry)


def _recording(value: Value) -> Cid | None:
    """The CID of the record's audio blob, if it has one."""
    try:
        return cid_of(in_record.digest_in(value.get("audioBlob")))
    except Conflict:
        return None
