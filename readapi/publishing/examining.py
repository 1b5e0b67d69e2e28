"""What a received file says, put into what is to be published: the first step of the job worker."""

import asyncio
import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from readapi import faults
from readapi.audio import renditions
from readapi.audio.keys import received_audio, received_image
from readapi.audio.recording import Probed
from readapi.audio.store import AudioStore
from readapi.authoring import pictures
from readapi.errors import InvalidRequest, ScopeUpgradeRequired, TooLarge
from readapi.publishing import carried
from readapi.publishing.changing import with_template
from readapi.publishing.placing import TOO_LONG_FOR_A_RECORD, lies_with_record
from readapi.publishing.policies import Policies
from readapi.queries import lists
from readapi.search import Index
from readapi.state.uploads import Audio, OnAlbum, Unexamined, Upload, Wanted
from readapi.writing import Writing, new_rkey
from schemas.bounds import MAX_AUDIO_BYTES, MAX_IMAGE_BYTES
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess
from schemas.rights import Rights
from schemas.slugs import slug
from schemas.spaces import InSpace


class Examining:
    """Decides what the form left to the file. Harmless to repeat."""

    def __init__(self, store: AudioStore, policies: Policies, index: Index, writing: Writing) -> None:
        self._store = store
        self._policies = policies
        self._index = index
        self._writing = writing

    async def run(self, upload: Upload) -> Wanted:
        """What is to be published, with nothing left open. Raises ApiError and NotAudio."""
        wanted = upload.wanted
        if wanted.unexamined is None:
            return wanted
        async with self._store.local(received_audio(upload.id)) as path:
            probed = await renditions.examine(path)
        found = (probed.file_type, probed.mime_type, probed.duration)
        audio = Audio(wanted.audio.file_id, wanted.audio.bytes, *found)
        examined = dataclasses.replace(wanted, audio=audio, unexamined=None)
        if wanted.record is None:
            return examined
        return await self._published(upload, examined, wanted.unexamined, probed)

    async def _published(
        self, upload: Upload, wanted: Wanted, unexamined: Unexamined, probed: Probed
    ) -> Wanted:
        """The record of a new track, with what the file says where the form said nothing."""
        assert wanted.record is not None
        of_file = {"title": probed.title, "album": probed.album}
        told = {"fileType": probed.file_type, "duration": probed.duration}
        record = {**_said(of_file), **wanted.record, **_said(told)}
        if "title" not in record:
            raise InvalidRequest.of_field("title", f"{faults.REQUIRED}, as the file does not say it either")
        album = wanted.album or self._album(upload, wanted, unexamined, probed)
        if album is not None:
            record["album"] = album.name
        if album is not None and wanted.album is None and not unexamined.has_template:
            rights = None if unexamined.rights is None else Rights.model_validate(unexamined.rights)
            policy = await self._policies.of_upload(upload, None, album, rights)
            record = with_template(record, policy.template, policy.origin, policy.rights)
        check_length(wanted.audio.bytes, upload.track, carried.access_of(record))
        self._writing.check(upload.track.collection, upload.track.rkey, record)
        image_type = wanted.image_type or await self._cover(upload, probed)
        return dataclasses.replace(wanted, record=record, album=album, image_type=image_type)

    def _album(
        self, upload: Upload, wanted: Wanted, unexamined: Unexamined, probed: Probed
    ) -> OnAlbum | None:
        """The album that the file names, where the form names none and the artist has it."""
        assert wanted.record is not None
        named = probed.album
        if named is None or "album" in wanted.record or isinstance(upload.track, InSpace):
            return None
        card = self._index.album(upload.did, slug(named))
        if card is None:
            return None
        if not unexamined.may_write_lists:
            raise ScopeUpgradeRequired
        return OnAlbum(lists.title(card), lists.uri_of(card), new_rkey())

    async def _cover(self, upload: Upload, probed: Probed) -> str | None:
        """Keep the picture in the file, as far as records can hold it; its type."""
        picture = probed.cover
        kind = None if picture is None else pictures.media_type(picture)
        if picture is None or kind is None or len(picture) > MAX_IMAGE_BYTES:
            return None
        await put_picture(self._store, upload.id, picture)
        return kind


async def put_picture(store: AudioStore, upload_id: str, picture: bytes) -> None:
    """Keep the picture of an upload until its track is written."""
    with tempfile.TemporaryDirectory(prefix="fmsvc-") as folder:
        path = Path(folder) / "image"
        await asyncio.to_thread(path.write_bytes, picture)
        await store.put(received_image(upload_id), path)


def check_length(size: int, track: AtUri, access: TemplateAccess) -> None:
    """Raises TooLarge for what a record must hold and cannot."""
    if lies_with_record(track, access) and size > MAX_AUDIO_BYTES:
        raise TooLarge(TOO_LONG_FOR_A_RECORD)


def _said(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value not in (None, "")}
