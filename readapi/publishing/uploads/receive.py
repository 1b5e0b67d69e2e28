"""Receives uploads: checks the request, stores its files and queues the job before it is acknowledged."""

import asyncio
import hashlib
import uuid
from pathlib import Path

from readapi.audio import in_record
from readapi.audio.decoding.first_bytes import could_be_audio
from readapi.audio.store import AudioStore
from readapi.errors import (
    ArtistProfileRequired,
    InvalidRequest,
    NotFound,
    PrivateAlbum,
    ScopeUpgradeRequired,
    UnsupportedMediaType,
)
from readapi.http.limits.quota import Quota
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import lists
from readapi.oauth import scopes
from readapi.oauth.network import Network
from readapi.pds.records import images, profiles
from readapi.pds.records import tracks as authoring
from readapi.pds.repo import Pds, Value
from readapi.pds.writing import Writing, new_rkey
from readapi.publishing.access.change_track import GONE, with_template
from readapi.publishing.access.policies import Policies
from readapi.publishing.originals.pairing import StorePairing
from readapi.publishing.uploads.examine import check_length, put_picture
from readapi.publishing.uploads.revisions import check_access
from readapi.state.publishing.file_keys import received_audio, received_image
from readapi.state.publishing.revisions import Revision
from readapi.state.publishing.uploads import Audio, Kind, OnAlbum, Unexamined, Upload, Wanted
from readapi.state.state import State
from schemas import datetimes
from schemas.api.publishing import NewTrack
from schemas.api.shape import Received
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.ids import AtUri
from schemas.publishing import Template, is_private
from schemas.slugs import slug
from schemas.spaces import InSpace, Space

UNREAD = {"title": "Title", "fileType": "mp3"}  # placeholders for the file's metadata in the early check


class UploadIntake:
    """Refuses before anything is stored; an upload that it returns is durable."""

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
        self._pairing = StorePairing(state, store)

    async def publish(
        self,
        who: SignedIn,
        sent: NewTrack,
        key: str = "",
        *,
        attaches: bool = False,
        file_title: str | None = None,
    ) -> Upload:
        """Receive a new track of an artist. The same request with the same key returns the same upload.

        `attaches`: the rights in the request go on the record whatever its template says. `file_title`: the
        title if neither the request nor the file has one.
        """
        upload_id = _id(who, key, sent.model_dump_json(exclude={"file", "image"}), sent.file)
        if (made := await self._state.uploads.find(upload_id)) is not None:
            return made
        artist = await self._artist(who)
        await _check_audio(sent.file.path)
        album = self._album(who, sent)
        policy = await self._policies.of_upload(who, sent.publishing, album, sent.rights, attaches=attaches)
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
        unexamined = Unexamined(
            sent.publishing is not None,
            self._may_write_lists(who),
            rights,
            takes_album=sent.album is None,
            attaches=attaches,
            file_title=file_title,
        )
        wanted = Wanted(_audio(sent.file), record, album, image_type, unexamined=unexamined)
        return await self._put(upload_id, who, "publish", track, wanted, sent.file.path, picture)

    async def replace(self, who: SignedIn, track: AtUri, sent: Received, key: str = "") -> Upload:
        """Receive new audio for a track. `key`: as for `publish`."""
        upload_id = _id(who, key, str(track), sent)
        if (made := await self._state.uploads.find(upload_id)) is not None:
            return made
        record = await self._pds.get(who, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        await _check_audio(sent.path)
        check_length(sent.bytes, track, in_record.access_of(record.value))
        wanted = Wanted(_audio(sent), unexamined=Unexamined())
        return await self._put(upload_id, who, "replace", track, wanted, sent.path, None)

    async def restore(self, who: SignedIn, revision: Revision) -> Upload:
        """Restore an earlier version, unless that widens the access it was published with."""
        track = revision.track
        record = await self._pds.get(who, track.collection, track.rkey)
        if record is None:
            raise NotFound(GONE)
        check_access(revision.access, in_record.access_of(record.value))
        wanted, upload_id = Wanted(revision.audio, access=revision.access), uuid.uuid4().hex
        async with self._quota.upload(who.did, 0):
            return await self._state.uploads.put(
                upload_id, who.did, who.grant_id, "restore", revision.track, wanted
            )

    async def _artist(self, who: SignedIn) -> str:
        """The artist's display name or handle. Raises ArtistProfileRequired."""
        profile = await self._pds.get(who, self._writing.collections.profile, profiles.RKEY)
        if profile is None:
            raise ArtistProfileRequired
        return str(profile.value.get("displayName") or who.handle)

    def _address(self, who: SignedIn, template: Template) -> AtUri:
        """The URI of a new track: in the artist's public repo, or in their own Space."""
        collections, rkey = self._writing.collections, new_rkey()
        if not is_private(template):
            return AtUri(who.did, collections.track, rkey)
        return InSpace(who.did, collections.track, rkey, Space.own(who.did, collections.space))

    def _album(self, who: SignedIn, sent: NewTrack) -> OnAlbum | None:
        """The album that the form names, which may be new; None where it names none."""
        if sent.album is not None and sent.album_id is not None:
            raise InvalidRequest.of_field("album_id", "leaves nothing for album to say; send one of them")
        if sent.album_id is None and not sent.album:
            return None
        card = (
            self._index.album(who.did, slug(str(sent.album)))
            if sent.album_id is None
            else lists.find_own_list(self._index, "album", sent.album_id, who.did)
        )
        if not self._may_write_lists(who):
            raise ScopeUpgradeRequired
        if card is None:
            return OnAlbum(str(sent.album), None, new_rkey())
        return OnAlbum(lists.album_title(card), lists.list_uri(card), new_rkey())

    def _may_write_lists(self, who: SignedIn) -> bool:
        """Whether the session's scopes allow writing lists, which adding a track to an album needs."""
        collections = self._writing.collections
        return not scopes.missing_scopes(who.scopes, [scopes.scope_for("list", collections)], collections)

    async def _said(self, sent: NewTrack, artist: str, album: str | None) -> Value:
        """The record's members from the form, without audio, image and access."""
        features = await authoring.resolve_names(self._index, self._network, sent.features)
        said = {
            "$type": self._writing.collections.track,
            "title": sent.title,
            "artist": artist,
            "album": album,
            "description": sent.description,
            "tags": sent.tags,
            "features": authoring.make_features({}, features),
            "createdAt": datetimes.render(datetimes.now()),
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
        """Store the files, then the row: a job needs its files; files without a row are deleted after a week.

        Once the row exists the job runs, so no later error refuses the request.
        """
        async with self._quota.upload(who.did, wanted.audio.bytes):
            if (made := await self._state.uploads.find(upload_id)) is not None:  # sent twice at once
                return made
            await self._state.stored_files.expect(received_audio(upload_id), received_image(upload_id))
            if picture is not None:
                await put_picture(self._store, upload_id, picture)
            await self._store.put(received_audio(upload_id), audio)
            upload = await self._state.uploads.put(upload_id, who.did, who.grant_id, kind, track, wanted)
        await self._pairing.advance_if_possible()
        return upload


def _id(who: SignedIn, key: str, said: str, audio: Received) -> str:
    """The upload's id: the same for a request repeated with its key, otherwise a new one."""
    if not key:
        return uuid.uuid4().hex
    return hashlib.sha256("\n".join((who.did, key, said, audio.sha256)).encode()).hexdigest()[:32]


async def _check_audio(path: Path) -> None:
    """Raise UnsupportedMediaType if the first bytes are of no audio format; the worker probes the rest."""
    if not await asyncio.to_thread(could_be_audio, path):
        raise UnsupportedMediaType("This file cannot be read as audio.")


def _audio(sent: Received) -> Audio:
    return Audio(sent.sha256, sent.bytes, "", "", None)


def _check_no_album(sent: NewTrack) -> None:
    """Raise PrivateAlbum when the form names an album."""
    if sent.album or sent.album_id is not None:
        raise PrivateAlbum("Albums are public, so a track in a private Space cannot be on one.")


def _picture(sent: NewTrack) -> tuple[bytes | None, str | None]:
    """The picture in the form, and its media type."""
    if sent.image is None:
        return None, None
    kind = images.media_type(sent.image)
    if kind is None:
        raise InvalidRequest.of_field("image", images.NO_PICTURE)
    if len(sent.image) > MAX_IMAGE_BYTES:
        raise images.too_large()
    return sent.image, kind
