"""Cache of audio blobs from PDSes: each is fetched once, verified by its CID, kept while there is room."""

import asyncio
import base64
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import structlog

from readapi.audio.blob_access import BlobAccess
from readapi.audio.cache_folder import arriving, make_room
from readapi.audio.source import OpenFile
from readapi.errors import PdsUnavailable, SpaceRefused
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.oauth.throttle import KeyedSlots, Turn
from schemas.bounds import MAX_AUDIO_BYTES
from schemas.ids import Cid, Did, is_cid
from schemas.takedowns import Takedowns

log = structlog.get_logger()

FOLDER = "blobs"
ANSWER_SECONDS = 30.0
LONGEST_SECONDS = 300.0  # in which the longest recording needs 350 KB/s
AT_ONE_SERVER = 2
OF_ONE_CLIENT = 4  # running fetches; cached blobs do not count
PATIENCE_SECONDS = 30.0  # that a fetch waits for its turn
LINGER_SECONDS = 5.0  # that a fetch goes on without a waiting request: players disconnect and ask again
FAILURE_SECONDS = 10.0  # before a failed fetch is tried again
MOST_FAILURES = 10_000

_REFUSALS = (401, 403)
_SHA256_OF_RAW = b"\x01\x55\x12\x20"  # CIDv1, raw, SHA-256, 32 bytes


TOO_MANY = "You already have several requests for files from other servers; try again when they are done."


class _TooBusy(PdsUnavailable):
    """The server was not asked, because too many requests to it wait already."""


class Mismatch(Exception):
    """The fetched bytes do not have the hash in the CID."""


@dataclass(eq=False, slots=True)
class _Fetch:
    """A running fetch of one blob, and the number of requests that wait for it."""

    task: "asyncio.Task[OpenFile]"
    waiting: int = 0


class Blobs:
    """A folder of complete blobs that processes may share; evicts the least recently used first.

    A blob is served only after it was received in full and its hash was verified, so its first request waits.
    A slow server delays only requests for its own blobs.
    """

    def __init__(
        self,
        folder: Path,
        network: Network,
        max_bytes: int,
        linger_seconds: float = LINGER_SECONDS,
        longest_bytes: int = MAX_AUDIO_BYTES,
    ) -> None:
        """`max_bytes`: of all blobs together. `longest_bytes`: of one."""
        self._folder = folder
        self._longest_bytes = longest_bytes
        self._linger_seconds = linger_seconds
        self._network = network
        self._max_bytes = max_bytes
        self._under_way: dict[Path, _Fetch] = {}
        self._purging: set[asyncio.Task[None]] = set()
        self._failures: dict[Path, float] = {}
        self._turns = KeyedSlots(AT_ONE_SERVER, PATIENCE_SECONDS)
        self._clients = KeyedSlots(OF_ONE_CLIENT, PATIENCE_SECONDS)

    async def open(
        self, did: Did, cid: Cid, entry: BlobAccess | None = None, *, client: str | None = None
    ) -> OpenFile:
        """Open a blob; a private one needs an `entry`. Raises PdsUnavailable, and the entry's refusal.

        `client`: the account or network address that requests it. None: this service itself.
        """
        if not is_cid(cid):
            raise PdsUnavailable
        path = self._folder / _name(did, cid, None if entry is None else entry.name)
        try:
            os.utime(path)  # for eviction by last use
            return OpenFile(path)
        except FileNotFoundError:
            return await self._fetched(path, did, cid, entry, client)

    def path(self, did: Did, cid: Cid) -> Path:
        """Where a public blob lies once it was opened."""
        return self._folder / _name(did, cid, None)

    def forget(self, did: Did, cid: Cid, place: str | None = None) -> None:
        """Delete a blob; `place` is a private one's `BlobAccess.name`. Open files stay readable."""
        (self._folder / _name(did, cid, place)).unlink(missing_ok=True)

    def purge_taken_down(self, takedowns: Takedowns) -> None:
        """Delete the public blobs of what is taken down, in the background."""
        if takedowns:
            purging = asyncio.get_running_loop().create_task(asyncio.to_thread(self._purge, takedowns))
            self._purging.add(purging)
            purging.add_done_callback(self._purging.discard)

    def _purge(self, takedowns: Takedowns) -> None:
        owners = {_owner(did) for did in takedowns.accounts}
        for entry in os.scandir(self._folder) if self._folder.exists() else ():
            cid, _, owner = entry.name.partition("-")
            if owner in owners or takedowns.covers_any((cid,)):
                Path(entry.path).unlink(missing_ok=True)

    async def close(self) -> None:
        """Cancel running fetches."""
        tasks = [fetch.task for fetch in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._purging, return_exceptions=True)

    async def _fetched(
        self, path: Path, did: Did, cid: Cid, entry: BlobAccess | None, client: str | None
    ) -> OpenFile:
        """Requests for the same blob share one fetch, which is cancelled soon after the last disconnects."""
        if self._failures.get(path, 0.0) > time.monotonic():
            raise PdsUnavailable
        fetch = self._under_way.get(path)
        if fetch is None:
            # Other clients may start the same fetch meanwhile: they do not wait for this client's turn.
            turn = await self._turn(client)
            fetch = self._under_way.get(path)
            if fetch is None:
                fetch = self._begun(path, did, cid, entry, turn)
            else:
                turn.end()
        fetch.waiting += 1
        try:
            return await asyncio.shield(fetch.task)
        finally:
            fetch.waiting -= 1
            if not fetch.waiting and not fetch.task.done():
                asyncio.get_running_loop().call_later(self._linger_seconds, self._give_up, path, fetch)

    async def _turn(self, client: str | None) -> Turn:
        """Wait for one of the client's fetch slots, which is freed when the fetch ends."""
        try:
            return Turn() if client is None else await self._clients.take(client)
        except Unavailable as error:
            raise PdsUnavailable(TOO_MANY) from error

    def _begun(self, path: Path, did: Did, cid: Cid, entry: BlobAccess | None, turn: Turn) -> _Fetch:
        fetch = self._under_way[path] = _Fetch(asyncio.create_task(self._fetch(path, did, cid, entry)))
        fetch.task.add_done_callback(lambda done: self._settled(path, done))
        fetch.task.add_done_callback(lambda _: turn.end())
        return fetch

    def _give_up(self, path: Path, fetch: _Fetch) -> None:
        if not fetch.waiting:
            self._forget(path, fetch.task)
            fetch.task.cancel()

    def _forget(self, path: Path, task: "asyncio.Task[OpenFile]") -> None:
        """Remove the fetch, so that the next request starts a new one."""
        if path in self._under_way and self._under_way[path].task is task:
            del self._under_way[path]

    def _settled(self, path: Path, done: "asyncio.Task[OpenFile]") -> None:
        self._forget(path, done)
        error = None if done.cancelled() else done.exception()
        # A refusal concerns one listener only; being too busy ourselves says nothing about the server.
        if error is not None and not isinstance(error, (SpaceRefused, _TooBusy)):
            while len(self._failures) >= MOST_FAILURES:
                del self._failures[next(iter(self._failures))]
            self._failures[path] = time.monotonic() + FAILURE_SECONDS

    async def _fetch(self, path: Path, did: Did, cid: Cid, entry: BlobAccess | None) -> OpenFile:
        try:
            server = (await self._network.resolve(did)).pds
            if server is None:
                raise Unavailable("No server has this recording.")
            async with self._turns.at(server):
                with arriving(path) as part:
                    await self._download(part, server, did, cid, entry)
                    file = OpenFile(part)
                    part.replace(path)
        except (Unavailable, Mismatch) as error:
            if entry is not None and isinstance(error, Unavailable) and error.status in _REFUSALS:
                raise entry.refused() from error
            # The log must not name private blobs.
            owner = {"did": did, "cid": cid} if entry is None else {}
            log.warning("blob could not be fetched", **owner, error=str(error)[:200])
            raise (_TooBusy if getattr(error, "unasked", False) else PdsUnavailable)() from error
        await asyncio.to_thread(make_room, self._folder, self._max_bytes)
        return file

    async def _download(self, part: Path, server: str, did: Did, cid: Cid, entry: BlobAccess | None) -> None:
        public = f"{server}/xrpc/com.atproto.sync.getBlob?{urlencode({'did': did, 'cid': cid})}"
        url, headers = (public, {}) if entry is None else entry.request(server, did, cid)
        digest = hashlib.sha256()
        with part.open("wb") as file:

            def write(chunk: bytes) -> None:
                digest.update(chunk)
                file.write(chunk)

            await self._network.download(
                url,
                write,
                max_bytes=self._longest_bytes,
                timeout_seconds=ANSWER_SECONDS,
                longest_seconds=LONGEST_SECONDS,
                headers=headers,
            )
        if _SHA256_OF_RAW + digest.digest() != _decoded(cid):
            raise Mismatch("what came is not what the record names")


def _name(did: Did, cid: Cid, place: str | None) -> str:
    """The file name, which includes account and Space: one server's blob must not answer for another's."""
    return f"{cid}-{_owner(did if place is None else f'{did} {place}')}"


def _owner(named: str) -> str:
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def cid_of(file_id: str) -> Cid:
    """The CID of a blob with this content. `file_id`: SHA-256 in hex."""
    return Cid("b" + base64.b32encode(_SHA256_OF_RAW + bytes.fromhex(file_id)).decode().lower().rstrip("="))


def _decoded(cid: Cid) -> bytes:
    text = cid[1:].upper()
    return base64.b32decode(text + "=" * (-len(text) % 8))
