"""Audio blobs of people's servers: fetched once, held to their CID, kept as long as there is room."""

import asyncio
import base64
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import structlog

from readapi.audio.entry import Entry
from readapi.audio.files import OpenFile
from readapi.errors import PdsUnavailable, SpaceRefused
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.turns import Turn, Turns
from schemas.bounds import MAX_AUDIO_BYTES
from schemas.ids import Cid, Did, is_cid

log = structlog.get_logger()

FOLDER = "blobs"
ANSWER_SECONDS = 30.0
LONGEST_SECONDS = 300.0  # in which the longest recording needs 350 KB/s
AT_ONE_SERVER = 2
OF_ONE_CLIENT = 4  # fetches under way; what is here already costs none
PATIENCE_SECONDS = 30.0  # with which a fetch waits for its turn
LINGER_SECONDS = 5.0  # for which a fetch goes on that nobody waits for: players hang up and ask again
FAILURE_SECONDS = 10.0  # for which a server is not asked again for what it did not give
MOST_FAILURES = 10_000

_REFUSALS = (401, 403)
_PART = ".part"
_ABANDONED_SECONDS = 3600.0
_SHA256_OF_RAW = b"\x01\x55\x12\x20"  # CIDv1, raw, SHA-256, 32 bytes


TOO_MANY = "You are already waiting for several recordings from other servers; try again when they are here."


class _TooBusy(PdsUnavailable):
    """The server was not asked."""


class Mismatch(Exception):
    """The bytes are not those that the CID names."""


@dataclass(eq=False, slots=True)
class _Fetch:
    """One blob on its way, and how many wait for it."""

    task: "asyncio.Task[OpenFile]"
    waiting: int = 0


class Blobs:
    """A folder of blobs that several processes may share. Whole ones only; the least recently used go first.

    Nothing is served before all of it has come and its hash is right: whoever asks first waits for that.
    Servers that are slow keep nobody waiting but for what is theirs.
    """

    def __init__(
        self, folder: Path, network: Network, max_bytes: int, linger_seconds: float = LINGER_SECONDS
    ) -> None:
        self._folder = folder
        self._linger_seconds = linger_seconds
        self._network = network
        self._max_bytes = max_bytes
        self._under_way: dict[Path, _Fetch] = {}
        self._failures: dict[Path, float] = {}
        self._turns = Turns(AT_ONE_SERVER, PATIENCE_SECONDS)
        self._clients = Turns(OF_ONE_CLIENT, PATIENCE_SECONDS)

    async def open(
        self, did: Did, cid: Cid, entry: Entry | None = None, *, client: str | None = None
    ) -> OpenFile:
        """The blob, a public one without an `entry`. Raises PdsUnavailable, and the entry's refusal.

        `client`: the account or network address that asked for it. None: this service itself.
        """
        if not is_cid(cid):
            raise PdsUnavailable
        path = self._folder / _name(did, cid, None if entry is None else entry.name)
        try:
            os.utime(path)  # what is read last goes last
            return OpenFile(path)
        except FileNotFoundError:
            return await self._fetched(path, did, cid, entry, client)

    def forget(self, did: Did, cid: Cid, place: str | None = None) -> None:
        """Drop a blob, a public one without the name of its place (`Entry.name`). Who reads it reads on."""
        (self._folder / _name(did, cid, place)).unlink(missing_ok=True)

    async def close(self) -> None:
        """Give up what is on its way."""
        tasks = [fetch.task for fetch in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetched(
        self, path: Path, did: Did, cid: Cid, entry: Entry | None, client: str | None
    ) -> OpenFile:
        """All who wait for the same blob wait for one fetch, which ends soon after the last went away."""
        if self._failures.get(path, 0.0) > time.monotonic():
            raise PdsUnavailable
        fetch = self._under_way.get(path)
        if fetch is None:
            # Others who want the same meanwhile do not wait for this client's turn: they begin it themselves.
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
        """A client's turn to have something fetched, which ends with the fetch."""
        try:
            return Turn() if client is None else await self._clients.take(client)
        except Unavailable as error:
            raise PdsUnavailable(TOO_MANY) from error

    def _begun(self, path: Path, did: Did, cid: Cid, entry: Entry | None, turn: Turn) -> _Fetch:
        fetch = self._under_way[path] = _Fetch(asyncio.create_task(self._fetch(path, did, cid, entry)))
        fetch.task.add_done_callback(lambda done: self._settled(path, done))
        fetch.task.add_done_callback(lambda _: turn.end())
        return fetch

    def _give_up(self, path: Path, fetch: _Fetch) -> None:
        if not fetch.waiting:
            self._forget(path, fetch.task)
            fetch.task.cancel()

    def _forget(self, path: Path, task: "asyncio.Task[OpenFile]") -> None:
        """Whoever comes now begins anew."""
        if path in self._under_way and self._under_way[path].task is task:
            del self._under_way[path]

    def _settled(self, path: Path, done: "asyncio.Task[OpenFile]") -> None:
        self._forget(path, done)
        error = None if done.cancelled() else done.exception()
        # A refusal is of one listener, and not of all; that we are too busy says nothing of the server.
        if error is not None and not isinstance(error, (SpaceRefused, _TooBusy)):
            while len(self._failures) >= MOST_FAILURES:
                del self._failures[next(iter(self._failures))]
            self._failures[path] = time.monotonic() + FAILURE_SECONDS

    async def _fetch(self, path: Path, did: Did, cid: Cid, entry: Entry | None) -> OpenFile:
        try:
            server = (await self._network.resolve(did)).pds
            if server is None:
                raise Unavailable("No server has this recording.")
            async with self._turns.at(server):
                with _arriving(path) as part:
                    await self._download(part, server, did, cid, entry)
                    file = OpenFile(part)
                    part.replace(path)
        except (Unavailable, Mismatch) as error:
            if entry is not None and isinstance(error, Unavailable) and error.status in _REFUSALS:
                raise entry.refused() from error
            # Of what is private the log says nothing.
            whose = {"did": did, "cid": cid} if entry is None else {}
            log.warning("audio could not be fetched", **whose, error=str(error)[:200])
            raise (_TooBusy if getattr(error, "unasked", False) else PdsUnavailable)() from error
        await asyncio.to_thread(self._make_room)
        return file

    async def _download(self, part: Path, server: str, did: Did, cid: Cid, entry: Entry | None) -> None:
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
                max_bytes=MAX_AUDIO_BYTES,
                timeout_seconds=ANSWER_SECONDS,
                longest_seconds=LONGEST_SECONDS,
                headers=headers,
            )
        if _SHA256_OF_RAW + digest.digest() != _decoded(cid):
            raise Mismatch("what came is not what the record names")

    def _make_room(self) -> None:
        """Delete what was read longest ago until the rest fits. Who reads it meanwhile reads on."""
        found = []
        for entry in os.scandir(self._folder):
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            if not entry.name.endswith(_PART):
                found.append((stat.st_mtime, stat.st_size, entry.path))
            elif stat.st_mtime < time.time() - _ABANDONED_SECONDS:
                Path(entry.path).unlink(missing_ok=True)
        too_many = sum(size for _, size, _ in found) - self._max_bytes
        for _, size, path in sorted(found):
            if too_many <= 0:
                return
            Path(path).unlink(missing_ok=True)
            too_many -= size


@contextmanager
def _arriving(path: Path) -> Iterator[Path]:
    """A name for what is not whole yet, beside the one that it will have."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.urandom(6).hex()}{_PART}")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _name(did: Did, cid: Cid, place: str | None) -> str:
    """One for each account, and Space: that a server gives a blob out says nothing of another's."""
    whose = did if place is None else f"{did} {place}"
    return f"{cid}-{hashlib.sha256(whose.encode()).hexdigest()[:16]}"


def cid_of(file_id: str) -> Cid:
    """The CID of a blob with this content. `file_id`: SHA-256 in hex."""
    return Cid("b" + base64.b32encode(_SHA256_OF_RAW + bytes.fromhex(file_id)).decode().lower().rstrip("="))


def _decoded(cid: Cid) -> bytes:
    text = cid[1:].upper()
    return base64.b32decode(text + "=" * (-len(text) % 8))
