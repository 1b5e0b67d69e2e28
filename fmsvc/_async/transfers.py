"""Downloads that resume and appear whole or not at all, and server-sent events that reconnect."""

import asyncio
import hashlib
import json
import re
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO

import httpx2

from fmsvc._async.http import Http, read_bounded
from fmsvc.addresses import path_of
from fmsvc.answers import backoff, media_type, parse_json, parse_model, retry_wait
from fmsvc.errors import AnswerError, ConfigurationError, ProofError, PublishingError, UnreachableError
from fmsvc.files import OnProgress
from fmsvc.models import UploadProgress

MAX_EVENT_BYTES = 64 << 10
RENEWED_BYTES = 1 << 20  # after so much progress a download has all its attempts again
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


async def fetch_file(
    http: Http,
    path: tuple[object, ...],
    output: Path,
    *,
    sha256: bytes | None = None,
    timeout: float = 300.0,
    on_progress: OnProgress | None = None,
) -> Path:
    """Download to a temporary file beside `output`, then rename it. Raises FmsvcError; leaves no half file.

    A broken connection is resumed where it broke off, up to `http.max_retries` times for each RENEWED_BYTES.
    `sha256`: of the whole file.
    """
    if not output.parent.is_dir():
        raise ConfigurationError(f"There is no folder {output.parent}.")
    if output.is_dir():
        raise ConfigurationError(f"{output} is a folder; name a file in it.")
    part = output.with_name(f".fmsvc-{secrets.token_hex(8)}")  # readable as other new files are
    with part.open("xb") as file:
        try:
            await _fill(http, path_of(*path), file, timeout, on_progress)
            if sha256 is not None and _digest(part) != sha256:
                raise ProofError("The downloaded file is not the one that its id names.")
            file.close()
            part.replace(output)
        except BaseException:
            file.close()
            part.unlink(missing_ok=True)
            raise
    return output


async def _fill(http: Http, path: str, file: Any, timeout: float, on_progress: OnProgress | None) -> None:
    etag, attempt = "", 0
    while True:
        wait = backoff(attempt)
        got = file.tell()
        resumed = {"Range": f"bytes={got}-", "If-Range": etag} if got and etag else {}
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", **resumed}
        try:
            async with http.open("GET", path, headers=headers, redirects=True, timeout=timeout) as response:
                if response.is_success:
                    etag = response.headers.get("ETag", "")
                    etag = "" if etag.startswith("W/") else etag
                    total = _start(response, file)
                    await _copy(response, file, total, on_progress)
                    file.flush()
                    return
                body = await read_bounded(response)
                asked = retry_wait(response, attempt) if response.status_code in (429, 503) else None
                if asked is None or attempt >= http.max_retries:
                    parse_json(response, body)
                wait = asked or 0.0
        except UnreachableError:
            if attempt >= http.max_retries:
                raise
            if etag and file.tell() - got >= RENEWED_BYTES:
                attempt = 0
        attempt += 1
        await asyncio.sleep(wait)


def _start(response: httpx2.Response, file: BinaryIO) -> int | None:
    """Place the file where the answer begins; the size of the whole, None when unknown."""
    if response.status_code == 206:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != file.tell():
            raise AnswerError("The service resumed the download at another place.")
        return None if found[2] == "*" else int(found[2])
    file.seek(0)
    file.truncate()
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


async def _copy(
    response: httpx2.Response, file: BinaryIO, total: int | None, on_progress: OnProgress | None
) -> None:
    async for piece in response.aiter_bytes():
        file.write(piece)
        if total is not None and file.tell() > total:
            raise AnswerError("The service sent more than it announced.")
        if on_progress is not None:
            on_progress(file.tell(), total or 0)
    if total is not None and file.tell() < total:
        raise UnreachableError("The download broke off.")


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


async def wait_for_upload(http: Http, upload_id: str, *, timeout: float) -> UploadProgress:
    """The upload when it is completed. Raises PublishingError when it failed, or is not done in time."""
    end, last_id, attempt = time.monotonic() + timeout, "", 0
    while True:
        settled, last_id = await _watch(http, upload_id, last_id, end)
        if settled is None:
            settled = await http.get(UploadProgress, "tracks", "uploads", upload_id, signed_in=True)
        if settled.status == "completed" and settled.track_id is not None:
            return settled
        if settled.status in ("completed", "failed"):
            message = settled.message or "The upload failed."
            raise PublishingError(message, code=settled.error)
        if time.monotonic() > end:
            raise PublishingError(f"The upload {upload_id} was not done in time.", code=settled.status)
        await asyncio.sleep(min(backoff(attempt), 5.0))
        attempt = min(attempt + 1, 4)


async def _watch(http: Http, upload_id: str, last_id: str, end: float) -> tuple[UploadProgress | None, str]:
    """The upload's last state, if a connection's events told it, and the id of the last event."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
    left = max(1.0, end - time.monotonic())
    path = path_of("tracks", "uploads", upload_id, "progress")
    try:
        async with http.open("GET", path, headers=headers, signed_in=True, timeout=left) as response:
            if not response.is_success or media_type(response) != "text/event-stream":
                return None, last_id
            async for event_id, data in read_events(response):
                last_id = event_id or last_id
                found = parse_model(UploadProgress, data)
                if found.status in ("completed", "failed"):
                    return found, last_id
                if time.monotonic() > end:
                    break
    except UnreachableError:
        pass
    return None, last_id


async def read_events(response: httpx2.Response) -> AsyncIterator[tuple[str, Any]]:
    """Server-sent events: id and JSON. Raises AnswerError for one that is too long or no JSON."""
    waiting = b""
    async for piece in response.aiter_bytes():
        waiting += piece.replace(b"\r\n", b"\n")
        *events, waiting = waiting.split(b"\n\n")
        if len(waiting) > MAX_EVENT_BYTES or any(len(event) > MAX_EVENT_BYTES for event in events):
            raise AnswerError("The service sent an event that is too long.")
        for event in events:
            found = _parse_event(event)
            if found is not None:
                yield found


def _parse_event(event: bytes) -> tuple[str, Any] | None:
    fields: dict[str, str] = {}
    for line in event.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        fields[name] = fields.get(name, "") + value.removeprefix(" ")
    if "data" not in fields:
        return None
    try:
        found = fields.get("id", "")
        return found if found.isdecimal() else "", json.loads(fields["data"])
    except (ValueError, RecursionError):
        raise AnswerError("The service sent an event that is no JSON.") from None
