"""Selects the file of a track that a viewer may stream or download, after checking access."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from readapi.audio.blob_access import SpaceCard
from readapi.audio.blob_cache import FOLDER, Blobs, cid_of
from readapi.audio.source import AudioSource, OpenFile
from readapi.audio.store import AudioStore
from readapi.audio.under_way import Subjects, UnderWay
from readapi.audio.waveforms import Waveforms
from readapi.errors import ApiError, NotAuthenticated, NotFound, SpaceRefused, SupportRequired
from readapi.http.supporters import Supporters
from readapi.index.takedowns import StandingTakedowns
from readapi.oauth.network import Network
from readapi.state.publishing.file_keys import original_key, rendition_key
from readapi.state.publishing.managed_audio import Managed, ManagedAudio
from schemas.access import Access, Viewer, may_download, may_listen
from schemas.audio import MIME_TYPES, RENDITION_TYPE, managed_file, named_file
from schemas.fields import AUDIO
from schemas.ids import AtUri, Cid
from schemas.settings import Settings
from schemas.spaces import InSpace
from schemas.stored import Card

NOT_DOWNLOADED = "The artist does not offer this recording for download."

NO_RECORDING = "This track has no recording."
NOT_READY = "The streaming version of this recording is not ready yet; try again later."
TAKEN_DOWN = "This recording was taken down by the operator of this service."
ELSEWHERE = "This recording is stored by another service; ask the artist for it."

_AUDIO_TYPE = re.compile(r"audio/[a-z0-9][a-z0-9.+-]{0,63}")
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)  # browsers are redirected to no other kind of address
_UNKNOWN_TYPE = "application/octet-stream"


class Elsewhere(NamedTuple):
    """The URL of a recording at another service."""

    url: str


@dataclass(frozen=True, slots=True)
class AudioReferences:
    """A track record's references to its audio."""

    cid: Cid | None
    mime: str | None
    url: str | None


class AudioSelection:
    """Checks the viewer's access to a track, then opens the file that they get."""

    def __init__(
        self,
        base_url: str,
        store: AudioStore,
        blobs: Blobs,
        managed: ManagedAudio,
        supporters: Supporters,
        takedowns: StandingTakedowns,
        waveforms: Waveforms,
    ) -> None:
        self._base_url = base_url
        self._takedowns = takedowns
        self._under_way = UnderWay(takedowns)
        self._supporters = supporters
        self._store = store
        self._blobs = blobs
        self._managed = managed
        self._waveforms = waveforms

    async def heard(self, track: Card, viewer: Viewer | None, client: str) -> AudioSource | Elsewhere:
        """The audio that this viewer streams. Raises the refusal, NotFound or PdsUnavailable.

        Viewers who may not download the original get its rendition. `client`: the network address of the
        request, by which fetches are counted for viewers without an account.
        """
        listener = await self._supporters.among(viewer, [track])
        check_listening(track.access, listener)
        managed = await self._managed_of(track)
        if managed is not None and not may_download(track.access, listener):
            source: AudioSource | Elsewhere = await self._rendition(track, managed)
        else:
            source = await self._original(track, managed, _asker(viewer, client))
        audio = _audio_cid(track, managed)
        if audio is not None and isinstance(source, AudioSource):
            self._waveforms.measure(_uri(track), audio, source)
        return source

    async def peaks(self, track: Card, viewer: Viewer | None) -> bytes | None:
        """How loud each part of the track is, see `Waveforms`; None also if the viewer may not listen."""
        if not may_listen(track.access, await self._supporters.among(viewer, [track])):
            return None
        audio = _audio_cid(track, await self._managed_of(track))
        return None if audio is None else self._waveforms.peaks(_uri(track), audio)

    async def tracks_of(self, file_id: str) -> list[AtUri]:
        """The tracks with this original in the private store, by our database and not by their records."""
        return [AtUri.parse(managed.track_uri) for managed in await self._managed.of_file(file_id)]

    def forget(self, track: Card, file_ids: Iterable[str]) -> None:
        """Delete a deleted track's blobs from the cache; `file_ids`: of its original and earlier versions."""
        named = _read_references(track).cid
        for cid in {*map(cid_of, file_ids), *([] if named is None else [named])}:
            self._blobs.forget(track.did, cid)
            self._waveforms.forget(_uri(track), cid)

    def forget_private(self, track: InSpace, cid: Cid) -> None:
        """Delete the audio blob of a deleted track in a Space from the cache."""
        self._blobs.forget(track.did, cid, str(track.space))
        self._waveforms.forget(str(track), cid)

    async def original(self, track: Card, viewer: Viewer | None, client: str) -> AudioSource | Elsewhere:
        """The original for this viewer to download. Raises the refusal, NotFound or PdsUnavailable."""
        check_download(track.access, await self._supporters.among(viewer, [track]))
        return await self._original(track, await self._managed_of(track), _asker(viewer, client))

    async def _original(self, track: Card, managed: Managed | None, client: str) -> AudioSource | Elsewhere:
        if managed is not None:
            key = original_key(managed.file_id)
            return await self._stored(track, managed, key, managed.mime_type, managed.file_id)
        named = _read_references(track)
        if named.cid is not None:
            subjects = self._permit(track, named.cid)
            entry = track.entry if isinstance(track, SpaceCard) else None
            file = await self._blobs.open(track.did, named.cid, entry, client=client)
            # The takedown may have come while the blob was fetched.
            self._permit(track, named.cid)
            return self._source(named.cid, file.size, named.mime, named.cid, file, subjects)
        if named.url is None or not _WEB_ADDRESS.match(named.url):
            raise NotFound(NO_RECORDING)
        if managed_file(named.url, self._base_url) is not None:
            raise NotFound(NO_RECORDING)
        if not may_download(track.access, None):
            raise NotFound(ELSEWHERE)
        self._permit(track, None)
        return Elsewhere(named.url)

    def _permit(self, track: Card, cid: Cid | None) -> Subjects:
        """The subjects that a takedown of this recording may name. Raises NotFound if one is taken down."""
        subjects = (track.did, _uri(track), *([] if cid is None else [cid]))
        if self._takedowns.now.covers_any(subjects):
            raise NotFound(TAKEN_DOWN)
        return subjects

    async def _rendition(self, track: Card, managed: Managed) -> AudioSource:
        if managed.rendition_type is None:
            raise NotFound(NOT_READY)
        key = rendition_key(managed.file_id, managed.rendition_type)
        version = f"{managed.file_id}-{managed.rendition_type}"
        return await self._stored(track, managed, key, MIME_TYPES[RENDITION_TYPE], version)

    async def _stored(
        self, track: Card, managed: Managed, key: str, media_type: str, version: str
    ) -> AudioSource:
        try:
            path = self._store.path(key)
            file = None if path is None else OpenFile(path)
        except FileNotFoundError:
            raise NotFound(NO_RECORDING) from None
        size = await self._store.size(key) if file is None else file.size
        if size is None:
            raise NotFound(NO_RECORDING)
        subjects = self._permit(track, cid_of(managed.file_id))
        return self._source(key, size, media_type, version, file, subjects)

    def _source(
        self, key: str, size: int, said: str | None, version: str, file: OpenFile | None, subjects: Subjects
    ) -> AudioSource:
        return AudioSource(
            key, size, _media_type(said), f'"{version}"', file, self._store, subjects, self._under_way
        )

    async def _managed_of(self, track: Card) -> Managed | None:
        """The file in the private store that the record names, if it is this track's original.

        Any record can contain any URL. Its host does not matter: this service may have moved.
        """
        named = _read_references(track)
        file_id = named_file(named.url) if named.url and named.cid is None else None
        if file_id is None:
            return None
        managed = await self._managed.find(_uri(track))
        return managed if managed is not None and managed.file_id == file_id else None


def is_elsewhere(track: Card) -> bool:
    """Whether its record names a recording that is at another service, and so in no archive."""
    named = _read_references(track)
    return named.cid is None and named.url is not None and named_file(named.url) is None


@asynccontextmanager
async def open_sources(
    settings: Settings,
    network: Network,
    managed: ManagedAudio,
    supporters: Supporters,
    takedowns: StandingTakedowns,
) -> AsyncIterator[AudioSelection]:
    """The audio selection with the configured store and cache; running fetches are cancelled at the end."""
    blobs = Blobs(settings.data_dir / FOLDER, network, settings.audio_cache_bytes)
    waveforms = Waveforms(settings.data_dir)
    blobs.purge_taken_down(takedowns.now)
    takedowns.on_change(blobs.purge_taken_down)
    try:
        store = AudioStore.of(settings)
        yield AudioSelection(settings.base_url, store, blobs, managed, supporters, takedowns, waveforms)
    finally:
        await waveforms.close()
        await blobs.close()


def _read_references(track: Card) -> AudioReferences:
    return AudioReferences(**orjson.loads(track.audio))


def _uri(track: Card) -> str:
    uri: str = orjson.loads(track.proof)["uri"]
    return uri


def _audio_cid(track: Card, managed: Managed | None) -> Cid | None:
    """The CID of the track's original."""
    return _read_references(track).cid if managed is None else cid_of(managed.file_id)


def _asker(viewer: Viewer | None, client: str) -> str:
    return client if viewer is None else viewer.did


def _media_type(said: str | None) -> str:
    """The Content-Type to send: an audio type, or a generic one for anything else."""
    bare = (said or "").partition(";")[0].rstrip()
    heard = bare.replace("video/", "audio/") if bare in AUDIO.besides else bare
    return heard if _AUDIO_TYPE.fullmatch(heard) else _UNKNOWN_TYPE


def check_listening(track: Access, viewer: Viewer | None) -> None:
    """Raise the refusal unless the viewer may listen."""
    if not may_listen(track, viewer):
        raise _not_heard(track, viewer)


def check_download(track: Access, viewer: Viewer | None) -> None:
    """Raise the refusal unless the viewer may listen and download; listening is checked first."""
    check_listening(track, viewer)
    if not may_download(track, viewer):
        raise _not_downloaded(track, viewer)


def _not_heard(track: Access, viewer: Viewer | None) -> ApiError:
    match track.listening:
        case "signed_in":
            return NotAuthenticated("Only people who are signed in can listen.")
        case "supporters":
            return _not_supported(viewer, "Only supporters of the artist can listen.")
        case "space":
            return SpaceRefused("This recording is in a private Space that does not admit this service.")
        case "public" | "owner":
            return NotFound("The artist does not share this recording.")


def _not_downloaded(track: Access, viewer: Viewer | None) -> ApiError:
    match track.downloads:
        case "supporters":
            return _not_supported(viewer, "Only supporters of the artist can download.")
        case "open" | "ask" | "off":
            return NotFound(NOT_DOWNLOADED)


def _not_supported(viewer: Viewer | None, sentence: str) -> ApiError:
    """The refusal for a viewer who does not support the artist, or is not signed in."""
    return NotAuthenticated(f"{sentence} Sign in first.") if viewer is None else SupportRequired(sentence)
