"""Reads an uploaded file's metadata and fills in what the form left open: an upload's first step."""

import asyncio
import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from readapi.audio import in_record
from readapi.audio.decoding import transcode
from readapi.audio.decoding.formats import Probed
from readapi.audio.store import AudioStore
from readapi.errors import InvalidRequest, ScopeUpgradeRequired, TooLarge
from readapi.http.request import validation
from readapi.index.lookups import Index
from readapi.index.queries import lists
from readapi.pds.records import images
from readapi.pds.writing import Writing, new_rkey
from readapi.publishing.access.change_track import with_template
from readapi.publishing.access.policies import Policies
from readapi.publishing.originals.placement import TOO_LONG_FOR_A_RECORD, lies_with_record
from readapi.state.publishing.file_keys import received_audio, received_image
from readapi.state.publishing.uploads import Audio, OnAlbum, Unexamined, Upload, Wanted
from schemas.bounds import MAX_AUDIO_BYTES, MAX_IMAGE_BYTES
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess
from schemas.rights import Rights
from schemas.slugs import slug
from schemas.spaces import InSpace


class UploadExamination:
    """Fills members that the form left open from the file's metadata. Idempotent."""

    def __init__(self, store: AudioStore, policies: Policies, index: Index, writing: Writing) -> None:
        self._store = store
        self._policies = policies
        self._index = index
        self._writing = writing

    async def run(self, upload: Upload) -> Wanted:
        """The upload's content with every member decided. Raises ApiError and NotAudio."""
        wanted = upload.wanted
        if wanted.unexamined is None:
            return wanted
        async with self._store.local(received_audio(upload.id)) as path:
            probed = await transcode.examine_file(path)
        found = (probed.file_type, probed.mime_type, probed.duration)
        audio = Audio(wanted.audio.file_id, wanted.audio.bytes, *found)
        examined = dataclasses.replace(wanted, audio=audio, unexamined=None)
        if wanted.record is None:
            return examined
        return await self._published(upload, examined, wanted.unexamined, probed)

    async def _published(
        self, upload: Upload, wanted: Wanted, unexamined: Unexamined, probed: Probed
    ) -> Wanted:
        """The record of a new track, with the file's metadata for fields that the form left empty."""
        assert wanted.record is not None
        named = probed.album if unexamined.takes_album else None
        of_file = {"title": probed.title or unexamined.file_title, "album": named}
        told = {"fileType": probed.file_type, "duration": probed.duration}
        record = {**_drop_empty(of_file), **wanted.record, **_drop_empty(told)}
        if "title" not in record:
            raise InvalidRequest.of_field(
                "title", f"{validation.REQUIRED}, as the file does not say it either"
            )
        album = wanted.album or self._album(upload, wanted, unexamined, named)
        if album is not None:
            record["album"] = album.name
        if album is not None and wanted.album is None and not unexamined.has_template:
            rights = None if unexamined.rights is None else Rights.model_validate(unexamined.rights)
            attaches = unexamined.attaches
            policy = await self._policies.of_upload(upload, None, album, rights, attaches=attaches)
            record.pop("rights", None)  # from the previous template
            record = with_template(record, policy.template, policy.origin, policy.rights)
        check_length(wanted.audio.bytes, upload.track, in_record.access_of(record))
        self._writing.check(upload.track.collection, upload.track.rkey, record)
        image_type = wanted.image_type or await self._cover(upload, probed)
        return dataclasses.replace(wanted, record=record, album=album, image_type=image_type)

    def _album(
        self, upload: Upload, wanted: Wanted, unexamined: Unexamined, named: str | None
    ) -> OnAlbum | None:
        """The album named in the file, if the form leaves it to the file and the artist has that album."""
        assert wanted.record is not None
        if named is None or "album" in wanted.record or isinstance(upload.track, InSpace):
            return None
        card = self._index.album(upload.did, slug(named))
        if card is None:
            return None
        if not unexamined.may_write_lists:
            raise ScopeUpgradeRequired
        return OnAlbum(lists.album_title(card), lists.list_uri(card), new_rkey())

    async def _cover(self, upload: Upload, probed: Probed) -> str | None:
        """Store the file's cover picture, if it fits into a record, and return its media type."""
        picture = probed.cover
        kind = None if picture is None else images.media_type(picture)
        if picture is None or kind is None or len(picture) > MAX_IMAGE_BYTES:
            return None
        await put_picture(self._store, upload.id, picture)
        return kind


async def put_picture(store: AudioStore, upload_id: str, picture: bytes) -> None:
    """Store the picture of an upload until its track is written."""
    with tempfile.TemporaryDirectory(prefix="fmsvc-") as folder:
        path = Path(folder) / "image"
        await asyncio.to_thread(path.write_bytes, picture)
        await store.put(received_image(upload_id), path)


def check_length(size: int, track: AtUri, access: TemplateAccess) -> None:
    """Raise TooLarge for audio that must be a blob of the record and is too large for one."""
    if lies_with_record(track, access) and size > MAX_AUDIO_BYTES:
        raise TooLarge(TOO_LONG_FOR_A_RECORD)


def _drop_empty(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value not in (None, "")}
