"""Tracks: read, like, upload, change, download, verify."""

import builtins
import json
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from fmsvc._async.http import Http
from fmsvc._async.proofs import verify_track
from fmsvc._async.transfers import fetch_file, wait_for_upload
from fmsvc.answers import parse_model, parse_models, parse_object
from fmsvc.errors import AnswerError
from fmsvc.files import OnProgress, file_name, open_file, place_file, sha256_of
from fmsvc.models import (
    AudioRevision,
    Liker,
    PublishingDefaults,
    Track,
    TrackPatch,
    TrackProof,
    TrackRef,
    UploadProgress,
    UploadResult,
    VerifiedRecord,
)


class Tracks:
    """Tracks; a ref is an id or an at-uri."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(
        self,
        *,
        limit: int = 50,
        artist_did: str | None = None,
        tags: Iterable[str] | None = None,
        sort: str | None = None,
        adult: bool = False,
    ) -> builtins.list[Track]:
        """Public tracks, the newest first. `tags`: those with any of them. `adult`: also those for adults."""
        found = self.iterate(limit=limit, artist_did=artist_did, tags=tags, sort=sort, adult=adult)
        return [track async for track in found]

    def iterate(
        self,
        *,
        limit: int | None = None,
        artist_did: str | None = None,
        tags: Iterable[str] | None = None,
        sort: str | None = None,
        adult: bool = False,
    ) -> AsyncIterator[Track]:
        """The same, page after page; all of them without a limit."""
        chosen = {"artist_did": artist_did, "tags": [*tags] if tags else None}
        query = {**chosen, "sort": sort, "adult": adult or None}
        return self._http.pages(Track, "tracks", "tracks", "", limit=limit, query=query)

    async def get(self, track: TrackRef) -> Track:
        """One track."""
        if isinstance(track, str) and track.startswith("at://"):
            return await self.get_by_uri(track)
        return await self._http.get(Track, "tracks", track)

    async def get_by_uri(self, uri: str) -> Track:
        """One track, by the at-uri of its record."""
        return await self._http.get(Track, "tracks", "by-uri", query={"uri": uri})

    async def id_of(self, track: TrackRef) -> int | str:
        """The id of a ref; asks the service for at-uris alone."""
        return (await self.get(track)).id if isinstance(track, str) and track.startswith("at://") else track

    async def my(
        self, *, limit: int = 50, q: str | None = None, sort: str | None = None
    ) -> builtins.list[Track]:
        """The account's own tracks, also those that others cannot find. `q`: words of them. Needs a token."""
        return [track async for track in self.iterate_my(limit=limit, q=q, sort=sort)]

    def iterate_my(
        self, *, limit: int | None = None, q: str | None = None, sort: str | None = None
    ) -> AsyncIterator[Track]:
        """The same, page after page."""
        query = {"q": q, "sort": sort}
        return self._http.pages(Track, "tracks", "tracks", "me", limit=limit, query=query, signed_in=True)

    async def liked(
        self, *, limit: int = 50, q: str | None = None, sort: str | None = None
    ) -> builtins.list[Track]:
        """The tracks that the account likes. Needs a token."""
        return [track async for track in self.iterate_liked(limit=limit, q=q, sort=sort)]

    def iterate_liked(
        self, *, limit: int | None = None, q: str | None = None, sort: str | None = None
    ) -> AsyncIterator[Track]:
        """The same, page after page."""
        query = {"q": q, "sort": sort}
        return self._http.pages(Track, "tracks", "tracks", "liked", limit=limit, query=query, signed_in=True)

    async def likers(self, track: TrackRef, *, limit: int = 50) -> builtins.list[Liker]:
        """The accounts that like a track, the newest like first."""
        return [liker async for liker in self.iterate_likers(track, limit=limit)]

    async def iterate_likers(self, track: TrackRef, *, limit: int | None = None) -> AsyncIterator[Liker]:
        """The same, page after page."""
        path = ("tracks", await self.id_of(track), "likes")
        async for liker in self._http.pages(Liker, "users", *path, limit=limit):
            yield liker

    async def like(self, track: TrackRef) -> None:
        """Like a track. Needs a token."""
        await self._http.ask("POST", "tracks", await self.id_of(track), "like", signed_in=True)

    async def unlike(self, track: TrackRef) -> None:
        """Take a like back. Needs a token."""
        await self._http.ask("DELETE", "tracks", await self.id_of(track), "like", signed_in=True)

    async def play(self, track: TrackRef) -> int:
        """Count a play; returns the plays so far."""
        found = parse_object(await self._http.ask("POST", "tracks", await self.id_of(track), "play"))
        return int(found.get("play_count") or 0)

    async def upload(
        self,
        file: Path | str,
        title: str,
        *,
        album: str | None = None,
        tags: Iterable[str] | None = None,
        publishing: PublishingDefaults | None = None,
        description: str | None = None,
        image: Path | str | None = None,
        features: Iterable[str] | None = None,
        timeout: float = 300.0,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
    ) -> UploadResult:
        """Publish an audio file, and wait until it is a record. Needs a token.

        It is published once, however often it is sent; the `idempotency_key` of an earlier call repeats
        that one. `on_progress(sent, total)` in bytes. Raises MissingFileError, PublishingError, FmsvcError.
        """
        fields = {
            "title": title,
            "album": album,
            "tags": json.dumps(sorted(tags)) if tags else None,
            "features": json.dumps([*features]) if features else None,
            "publishing": publishing.model_dump_json() if publishing is not None else None,
            "description": description,
        }
        form = {name: value for name, value in fields.items() if value is not None}
        done = await self._send(
            "POST", ("tracks", ""), file, image, form, timeout, on_progress, idempotency_key
        )
        return UploadResult(track_id=done.track_id or 0, title=title)

    async def replace_audio(
        self,
        track: TrackRef,
        file: Path | str,
        *,
        timeout: float = 300.0,
        on_progress: OnProgress | None = None,
        idempotency_key: str | None = None,
    ) -> UploadResult:
        """Put other audio in place of a track's own, and wait for it. Needs a token."""
        found = await self.get(track)
        path = ("tracks", found.id, "audio")
        done = await self._send("PUT", path, file, None, {}, timeout, on_progress, idempotency_key)
        return UploadResult(track_id=done.track_id or found.id, title=found.title)

    async def _send(
        self,
        method: str,
        path: tuple[object, ...],
        file: Path | str,
        image: Path | str | None,
        form: dict[str, str],
        timeout: float,
        on_progress: OnProgress | None,
        idempotency_key: str | None,
    ) -> UploadProgress:
        if image is not None:
            with open_file(image) as picture:
                pictures = {"image": (Path(image).name, picture.read())}
        else:
            pictures = {}
        with open_file(file, on_progress) as audio:
            files = {**pictures, "file": (Path(file).name, audio)}
            found = await self._http.ask(
                method,
                *path,
                form=form,
                files=files,
                signed_in=True,
                idempotency_key=idempotency_key or uuid.uuid4().hex,
                timeout=timeout,
            )
        upload_id = parse_object(found).get("upload_id")
        if not isinstance(upload_id, str):
            raise AnswerError("The service did not name the upload.")
        return await wait_for_upload(self._http, upload_id, timeout=timeout)

    async def upload_progress(self, upload_id: str) -> UploadProgress:
        """How far an upload is. Needs a token."""
        return await self._http.get(UploadProgress, "tracks", "uploads", upload_id, signed_in=True)

    async def revisions(self, track: TrackRef) -> builtins.list[AudioRevision]:
        """Earlier versions of the audio of a track of the account, newest first. Needs a token."""
        path = ("tracks", await self.id_of(track), "revisions")
        found = parse_object(await self._http.ask("GET", *path, signed_in=True))
        return parse_models(AudioRevision, found.get("revisions"))

    async def restore_revision(self, track: TrackRef, revision_id: int) -> AudioRevision:
        """Bring an earlier version back; returns the revision that the present audio became."""
        path = ("tracks", await self.id_of(track), "revisions", revision_id, "restore")
        return parse_model(AudioRevision, await self._http.ask("POST", *path, signed_in=True))

    async def update(self, track: TrackRef, patch: TrackPatch) -> Track:
        """Change a track's metadata, never its access. Needs a token."""
        path = ("tracks", await self.id_of(track))
        sent: dict[str, Any] = patch.model_dump(exclude_none=True, exclude={"image"})
        form = {name: json.dumps(value) if name == "tags" else value for name, value in sent.items()}
        if patch.image is None:
            if patch.features is not None:
                sent["features"] = json.loads(patch.features)
            return parse_model(Track, await self._http.ask("PATCH", *path, sent=sent, signed_in=True))
        with open_file(patch.image) as image:
            files = {"image": (Path(patch.image).name, image)}
            found = await self._http.ask("PATCH", *path, form=form, files=files, signed_in=True)
        return parse_model(Track, found)

    async def delete(self, track: TrackRef) -> None:
        """Delete a track and its record. Needs a token."""
        await self._http.ask("DELETE", "tracks", await self.id_of(track), signed_in=True)

    async def download(
        self,
        track: TrackRef,
        output: Path | str | None = None,
        *,
        timeout: float = 300.0,
        on_progress: OnProgress | None = None,
    ) -> Path:
        """Download a track's audio if the account may; `output` is a file or a folder. Raises FmsvcError.

        The file is held to its hash where its id names one, and appears whole or not at all.
        """
        found = await self.get(track)
        extension = found.original_file_type or found.file_type
        name = file_name(found.title, extension, f"track-{found.id}")
        return await fetch_file(
            self._http,
            ("tracks", found.id, "download"),
            place_file(output, name),
            sha256=sha256_of(found.file_id),
            timeout=timeout,
            on_progress=on_progress,
        )

    async def proof(self, track: TrackRef) -> TrackProof:
        """How the service verified a track's record."""
        return await self._http.get(TrackProof, "tracks", await self.id_of(track), "proof")

    async def verify(self, track: TrackRef, *, plc_url: str = "https://plc.directory") -> VerifiedRecord:
        """Check a track's record against its account's signing key, here. Needs the extra `verify`.

        The key is read from the account's DID document, not from the service. Raises ProofError.
        """
        uri = str((await self.proof(track)).uri)
        if isinstance(track, str) and track.startswith("at://"):
            uri = track
        return await verify_track(self._http, await self.id_of(track), uri, plc_url)
