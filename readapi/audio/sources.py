"""From a track to its audio: which file a listener hears, and which one somebody may keep."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from readapi.audio.blobs import FOLDER, Blobs, cid_of
from readapi.audio.files import OpenFile
from readapi.audio.keys import original_key, rendition_key
from readapi.audio.permission import check_download, check_listening
from readapi.audio.recording import MIME_TYPES, RENDITION_TYPE
from readapi.audio.source import Source
from readapi.audio.store import AudioStore
from readapi.errors import NotFound
from readapi.oauth.network import Network
from readapi.publishing.supporters import Supporters
from readapi.spaces.cards import SpaceCard
from readapi.state.managed import Managed, ManagedAudio
from schemas.access import Viewer, may_download
from schemas.audio import managed_file, named_file
from schemas.fields import AUDIO
from schemas.ids import AtUri, Cid
from schemas.settings import Settings
from schemas.spaces import InSpace
from schemas.stored import Card

NO_RECORDING = "This track came without a recording."
NOT_READY = "What may be heard of this recording is not ready yet; try again later."
ELSEWHERE = "This recording is kept by another service; ask the artist for it."

_AUDIO_TYPE = re.compile(r"audio/[a-z0-9][a-z0-9.+-]{0,63}")
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)  # anything else is not for browsers to be led to
_UNKNOWN_TYPE = "application/octet-stream"


class Elsewhere(NamedTuple):
    """The address at which another service gives the recording out."""

    url: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a track's record says of its audio."""

    cid: Cid | None
    mime: str | None
    url: str | None


class Sources:
    """Checks who asks, then opens what they get."""

    def __init__(
        self, base_url: str, store: AudioStore, blobs: Blobs, managed: ManagedAudio, supporters: Supporters
    ) -> None:
        self._base_url = base_url
        self._supporters = supporters
        self._store = store
        self._blobs = blobs
        self._managed = managed

    async def heard(self, track: Card, viewer: Viewer | None, client: str) -> Source | Elsewhere:
        """What this viewer listens to. Raises the refusal, NotFound or PdsUnavailable.

        An original that they may not keep is not what they are sent: its rendition is. `client`: the address
        that asks, under which fetches are counted for viewers without an account.
        """
        listener = await self._supporters.among(viewer, [track])
        check_listening(track.access, listener)
        managed = await self._managed_of(track)
        if managed is not None and not may_download(track.access, listener):
            return await self._rendition(managed)
        return await self._original(track, managed, _asker(viewer, client))

    async def tracks_of(self, file_id: str) -> list[AtUri]:
        """The tracks whose original is this file of ours: nobody else can say so."""
        return [AtUri.parse(managed.track_uri) for managed in await self._managed.of_file(file_id)]

    def forget(self, track: Card, file_ids: Iterable[str]) -> None:
        """Let go of what the cache has of a track that is gone; `file_ids`: of its earlier versions."""
        told = _told(track).cid
        for cid in {*map(cid_of, file_ids), *([] if told is None else [told])}:
            self._blobs.forget(track.did, cid)

    def forget_private(self, track: InSpace, cid: Cid) -> None:
        """The same of one in a Space, whose recording was this blob."""
        self._blobs.forget(track.did, cid, str(track.space))

    async def original(self, track: Card, viewer: Viewer | None, client: str) -> Source | Elsewhere:
        """What this viewer may keep. Raises the refusal, NotFound or PdsUnavailable."""
        check_download(track.access, await self._supporters.among(viewer, [track]))
        return await self._original(track, await self._managed_of(track), _asker(viewer, client))

    async def _original(self, track: Card, managed: Managed | None, client: str) -> Source | Elsewhere:
        if managed is not None:
            key = original_key(managed.file_id)
            return await self._stored(key, managed.mime_type, managed.file_id)
        told = _told(track)
        if told.cid is not None:
            entry = track.entry if isinstance(track, SpaceCard) else None
            file = await self._blobs.open(track.did, told.cid, entry, client=client)
            return Source(told.cid, file.size, _media_type(told.mime), f'"{told.cid}"', file, self._store)
        if told.url is None or not _WEB_ADDRESS.match(told.url):
            raise NotFound(NO_RECORDING)
        if managed_file(told.url, self._base_url) is not None:
            raise NotFound(NO_RECORDING)
        if not may_download(track.access, None):
            raise NotFound(ELSEWHERE)
        return Elsewhere(told.url)

    async def _rendition(self, managed: Managed) -> Source:
        if managed.rendition_type is None:
            raise NotFound(NOT_READY)
        key = rendition_key(managed.file_id, managed.rendition_type)
        version = f"{managed.file_id}-{managed.rendition_type}"
        return await self._stored(key, MIME_TYPES[RENDITION_TYPE], version)

    async def _stored(self, key: str, media_type: str, version: str) -> Source:
        try:
            path = self._store.path(key)
            file = None if path is None else OpenFile(path)
        except FileNotFoundError:
            raise NotFound(NO_RECORDING) from None
        size = await self._store.size(key) if file is None else file.size
        if size is None:
            raise NotFound(NO_RECORDING)
        return Source(key, size, _media_type(media_type), f'"{version}"', file, self._store)

    async def _managed_of(self, track: Card) -> Managed | None:
        """The file of ours that the record names, if it is this track's: anybody can write any address.

        Whatever the host: this service may have moved.
        """
        told = _told(track)
        file_id = named_file(told.url) if told.url and told.cid is None else None
        if file_id is None:
            return None
        managed = await self._managed.find(orjson.loads(track.proof)["uri"])
        return managed if managed is not None and managed.file_id == file_id else None


@asynccontextmanager
async def open_sources(
    settings: Settings, network: Network, managed: ManagedAudio, supporters: Supporters
) -> AsyncIterator[Sources]:
    """Where audio comes from, as the settings say; what is still being fetched is given up with the block."""
    blobs = Blobs(settings.data_dir / FOLDER, network, settings.audio_cache_bytes)
    try:
        yield Sources(settings.base_url, AudioStore.of(settings), blobs, managed, supporters)
    finally:
        await blobs.close()


def _told(track: Card) -> Told:
    return Told(**orjson.loads(track.audio))


def _asker(viewer: Viewer | None, client: str) -> str:
    return client if viewer is None else viewer.did


def _media_type(said: str | None) -> str:
    """Players are told what it is; nobody is told that it is anything but audio."""
    bare = (said or "").partition(";")[0].rstrip()
    heard = bare.replace("video/", "audio/") if bare in AUDIO.besides else bare
    return heard if _AUDIO_TYPE.fullmatch(heard) else _UNKNOWN_TYPE
