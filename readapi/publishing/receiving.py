"""What somebody sends to be published, until it is acknowledged: checked, made safe, queued."""

import asyncio
import hashlib
import uuid
from pathlib import Path

from readapi import times
from readapi.audio.first_bytes import could_be_audio
from readapi.audio.keys import received_audio, received_image
from readapi.audio.store import AudioStore
from readapi.authoring import pictures, profiles
from readapi.authoring import tracks as authoring
from readapi.errors import (
    ArtistProfileRequired,
    InvalidRequest,
    NotFound,
    PrivateAlbum,
    ScopeUpgradeRequired,
    TooLarge,
    UnsupportedMediaType,
)
from readapi.oauth import scopes
from readapi.oauth.network import Network
from readapi.pds import Pds, Value
from readapi.publishing import carried
from readapi.publishing.changing import GONE, with_template
from readapi.publishing.examining import check_length, put_picture
from readapi.publishing.pairing import Pairing
from readapi.publishing.policies import Policies
from readapi.publishing.quota import Quota
from readapi.publishing.versions import check_access
from readapi.queries import lists
from readapi.search import Index
from readapi.state.revisions import Revision
from readapi.state.state import State
from readapi.state.uploads import Audio, Kind, OnAlbum, Unexamined, Upload, Wanted
from readapi.viewer import SignedIn
from readapi.writing import Writing, new_rkey
from schemas.api.publishing import NewTrack
from schemas.api.shape import Received
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.ids import AtUri
from schemas.publishing import Template, is_private
from schemas.slugs import slug
from schemas.spaces import InSpace, Space

UNREAD = {"title": "Title", "fileType": "mp3"}  # in place of what the file says, so that the rest is checked


class Receiving:
    """Refuses before anything is kept; what it returns is safe."""

    def __init__(
        self,
        state: State,
        store: AudioStore,
        pds: Pds,
        writing: Writing,
        policies: Policies,
        quota: Quota,
        index: Index,
        network: Network,
    ) -> None:
        self._state = state
        self._store = store
        self._pds = pds
        self._writing = writing
        self._policies = policies
        self._quota = quota
        self._index = index
        self._network = network
        self._pairing = Pairing(state, store)

    async def publish(self, who: SignedIn, sent: NewTrack, key: str = "") -> Upload:
        """A new track of somebody with a profile. The same, sent again with its key, is the same upload."""
        upload_id = _id(who, key, sent.model_dump_json(exclude={"file", "image"}), sent.file)
        if (made := await self._state.uploads.find(upload_id)) is not None:
            return made
        artist = await self._artist(who)
        await _check_audio(sent.file.path)
        album = self._album(who, sent)
        policy = await self._policies.of_upload(who, sent.publishing, album, sent.rights)
        track = self._address(who, policy.template)
        if isinstance(track, InSpace):
            _check_no_album(sent)
            album = None
        check_length(sent.file.bytes, track, policy.template.access)
        picture, image_type = _picture(sent)
        said = await self._said(sent, artist, None if album is None else album.name)
        record = with_template(said, policy.template, policy.origin, policy.rights)
        self._writing.check(track.collection, track.rkey, {**UNREAD, **record})
        rights = None if sent.rights is None else sent.rights.model_dump(exclude_none=True)
        unexamined = Unexamined(sent.publishing is not None, self._may_write_lists(who), rights)
        wanted = Wanted(_audio(sent.file), record, album, image_type, unexamined=unexamined)
        return await self._put(upload_id, who, "publish", track, wanted, sent.file.path, picture)

    async def replace(self, who: SignedIn, track: AtUri, sent: Received, key: str = "") -> Upload:
        """Other audio for a track. `key`: as for `publish`."""
        upload_id = _id(who, key, str(track), sent)
        if (made := await self._state.uploads.find(upload_id)) is not None:
            return made
        record = await self._pds.get(who, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        await _check_audio(sent.path)
        check_length(sent.bytes, track, carried.access_of(record.value))
        wanted = Wanted(_audio(sent), unexamined=Unexamined())
        return await self._put(upload_id, who, "replace", track, wanted, sent.path, None)

    async def restore(self, who: SignedIn, revision: Revision) -> Upload:
        """An earlier version, unless somebody could have it now who could not when it was published."""
        track = revision.track
        record = await self._pds.get(who, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        check_access(revision.access, carried.access_of(record.value))
        wanted, upload_id = Wanted(revision.audio, access=revision.access), uuid.uuid4().hex
        async with self._quota.upload(who.did, 0):
            return await self._state.uploads.put(
                upload_id, who.did, who.grant_id, "restore", revision.track, wanted
            )

    async def _artist(self, who: SignedIn) -> str:
        """The name that they publish under. Raises ArtistProfileRequired."""
        profile = await self._pds.get(who, self._writing.collections.profile, profiles.RKEY)
        if profile is None:
            raise ArtistProfileRequired
        return str(profile.value.get("displayName") or who.handle)

    def _address(self, who: SignedIn, template: Template) -> AtUri:
        """Of a new track: in the artist's public repo, or in their own Space."""
        collections, rkey = self._writing.collections, new_rkey()
        if not is_private(template):
            return AtUri(who.did, collections.track, rkey)
        return InSpace(who.did, collections.track, rkey, Space.own(who.did, collections.space))

    def _album(self, who: SignedIn, sent: NewTrack) -> OnAlbum | None:
        """The album that the form names, which may be new."""
        if sent.album is not None and sent.album_id is not None:
            raise InvalidRequest.of_field("album_id", "leaves nothing for album to say; send one of them")
        if sent.album_id is None and not sent.album:
            return None
        card = (
            self._index.album(who.did, slug(str(sent.album)))
            if sent.album_id is None
            else lists.own(self._index, "album", sent.album_id, who.did)
        )
        if not self._may_write_lists(who):
            raise ScopeUpgradeRequired
        if card is None:
            return OnAlbum(str(sent.album), None, new_rkey())
        return OnAlbum(lists.title(card), lists.uri_of(card), new_rkey())

    def _may_write_lists(self, who: SignedIn) -> bool:
        """To put a track on an album is to write a list."""
        collections = self._writing.collections
        return not scopes.missing(who.scopes, [scopes.named("list", collections)], collections)

    async def _said(self, sent: NewTrack, artist: str, album: str | None) -> Value:
        """The record as far as the form says it, but for where audio and image are and who may hear it."""
        features = await authoring.dids(self._index, self._network, sent.features)
        said = {
            "$type": self._writing.collections.track,
            "title": sent.title,
            "artist": artist,
            "album": album,
            "description": sent.description,
            "tags": sent.tags,
            "features": authoring.featuring({}, features),
            "createdAt": times.render(times.now()),
        }
        return {name: value for name, value in said.items() if value not in (None, "", [])}

    async def _put(
        self,
        upload_id: str,
        who: SignedIn,
        kind: Kind,
        track: AtUri,
        wanted: Wanted,
        audio: Path,
        picture: bytes | None,
    ) -> Upload:
        """Files first: a row without them could not be worked at. Without their row they go after a week."""
        upload = await self._put_files(upload_id, who, kind, track, wanted, audio, picture)
        await self._pairing.advance()
        return upload

    async def _put_files(
        self,
        upload_id: str,
        who: SignedIn,
        kind: Kind,
        track: AtUri,
        wanted: Wanted,
        audio: Path,
        picture: bytes | None,
    ) -> Upload:
        async with self._quota.upload(who.did, wanted.audio.bytes):
            if (made := await self._state.uploads.find(upload_id)) is not None:  # sent twice at once
                return made
            await self._state.stored_files.expect(received_audio(upload_id), received_image(upload_id))
            if picture is not None:
                await put_picture(self._store, upload_id, picture)
            await self._store.put(received_audio(upload_id), audio)
            return await self._state.uploads.put(upload_id, who.did, who.grant_id, kind, track, wanted)


def _id(who: SignedIn, key: str, said: str, audio: Received) -> str:
    """Of an upload: what is sent twice with one key gets the same, and everything else one of its own."""
    if not key:
        return uuid.uuid4().hex
    return hashlib.sha256("\n".join((who.did, key, said, audio.sha256)).encode()).hexdigest()[:32]


async def _check_audio(path: Path) -> None:
    """Raises UnsupportedMediaType for what begins as no audio does; the rest is found out by the worker."""
    if not await asyncio.to_thread(could_be_audio, path):
        raise UnsupportedMediaType("This file cannot be read as audio.")


def _audio(sent: Received) -> Audio:
    return Audio(sent.sha256, sent.bytes, "", "", None)


def _check_no_album(sent: NewTrack) -> None:
    """Raises PrivateAlbum when the form names one."""
    if sent.album is not None or sent.album_id is not None:
        raise PrivateAlbum("Albums are public, so that a track in a private Space cannot be on one.")


def _picture(sent: NewTrack) -> tuple[bytes | None, str | None]:
    """What the form brings, and its type."""
    if sent.image is None:
        return None, None
    kind = pictures.media_type(sent.image)
    if kind is None:
        raise InvalidRequest.of_field("image", pictures.NO_PICTURE)
    if len(sent.image) > MAX_IMAGE_BYTES:
        raise TooLarge(pictures.TOO_LARGE)
    return sent.image, kind
