"""Accounts that sign real commits without a server: keys, records, tree and frames, all from a seed.

    repo = ForgedRepo(seed="ana")
    track = repo.create("fm.svc.track", {"title": "Lua", "artist": "Ana", "fileType": "mp3", …})
    frame = repo.commit_frame(seq=1)

Records are atproto JSON: `{"$link": …}` is a CID, `{"$bytes": …}` bytes. The same seed gives the same bytes.
"""

import bisect
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import coincurve
import libipld
from atmst.blockstore import MemoryBlockStore
from atmst.mst.node_store import NodeStore
from atmst.mst.node_wrangler import NodeWrangler
from atmst.mst.proof import find_rpath_and_build_proof
from cbrrr import CID, encode_dag_cbor
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from indexer.repo import car
from schemas.ids import tid_at

START = datetime(2025, 1, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=1)

Curve = Literal["k256", "p256"]
Record = Mapping[str, Any] | bytes

_K256_PREFIX, _P256_PREFIX = b"\xe7\x01", b"\x80\x24"
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class SigningKey:
    """A repo's key on either curve; signatures are low-S and the same for the same message."""

    def __init__(self, seed: str, curve: Curve = "k256") -> None:
        secret = hashlib.sha256(f"key {seed}".encode()).digest()
        self._sign: Callable[[bytes], bytes]
        if curve == "k256":
            k256 = coincurve.PrivateKey(secret)
            self._sign = lambda message: k256.sign_recoverable(message)[:64]
            point = _K256_PREFIX + k256.public_key.format(compressed=True)
        else:
            self._p256 = ec.derive_private_key(int.from_bytes(secret, "big") % _P256_ORDER, ec.SECP256R1())
            self._sign = self._sign_p256
            point = _P256_PREFIX + self._p256.public_key().public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
            )
        self.multibase: str = libipld.encode_multibase("z", point)

    def sign(self, message: bytes) -> bytes:
        return self._sign(message)

    def _sign_p256(self, message: bytes) -> bytes:
        der = self._p256.sign(message, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        r, s = decode_dss_signature(der)
        return r.to_bytes(32, "big") + min(s, _P256_ORDER - s).to_bytes(32, "big")


@dataclass(frozen=True, slots=True)
class Written:
    """A record that a repo holds or is about to."""

    uri: str
    cid: str
    rkey: str

    @property
    def ref(self) -> dict[str, str]:
        """A strongRef to it."""
        return {"uri": self.uri, "cid": self.cid}


class ForgedRepo:
    """One account. `create`, `update` and `delete` stage; `commit_frame` commits what is staged.

    `minimal` leaves out signature and tree, for loads of a million: the CAR holds the commit and its records,
    and every CID is true.
    """

    def __init__(
        self,
        did: str | None = None,
        *,
        seed: str = "repo",
        curve: Curve = "k256",
        start: datetime = START,
        minimal: bool = False,
    ) -> None:
        self.did = did or did_of(seed)
        self.key = SigningKey(seed, curve)
        self.now = start
        self.rev: str | None = None
        self.commit_block = b""
        self._minimal = minimal
        self._blocks: dict[bytes, bytes] = {}
        self._store = NodeStore(MemoryBlockStore(self._blocks))
        self._root: CID = self._store.get_node(None).cid
        self._keys: list[str] = []
        self._cids: dict[str, bytes] = {}
        self._staged: dict[str, bytes | None] = {}

    def create(self, collection: str, record: Record, rkey: str | None = None) -> Written:
        rkey = rkey or tid_at(self._tick())
        return self._stage(collection, rkey, record)

    def update(self, collection: str, rkey: str, record: Record) -> Written:
        return self._stage(collection, rkey, record)

    def delete(self, collection: str, rkey: str) -> None:
        self._staged[f"{collection}/{rkey}"] = None

    def commit_frame(self, seq: int, time: datetime | None = None, **envelope: Any) -> bytes:
        """Commit what is staged and return its frame. `envelope` overrides fields of the message."""
        self.now = max(time, self.now + TICK) if time else self._tick()
        since, previous_root = self.rev, self._root
        staged, self._staged = self._staged, {}
        self.rev = tid_at(self.now)
        operations = [self._apply(path, block) for path, block in staged.items()]
        blocks = {car.cid_of(block): block for block in staged.values() if block is not None}
        if self._minimal:
            self._root = _cid(bytes(previous_root) + self.rev.encode())
        else:
            blocks = self._proof(staged) | blocks
        commit = self._signed_commit()
        body = {
            "seq": seq,
            "rebase": False,
            "tooBig": False,
            "repo": self.did,
            "commit": CID(commit),
            "rev": self.rev,
            "since": since,
            "blocks": car.write_car([commit], [(commit, self.commit_block), *blocks.items()]),
            "ops": operations,
            "blobs": [],
            "prevData": previous_root,
            "time": _iso(time or self.now),
        }
        if since is None:
            del body["prevData"]
        return frame("#commit", body | envelope)

    def sync_frame(self, seq: int, time: datetime | None = None) -> bytes:
        """State the repo's newest commit, as after an import."""
        commit = car.cid_of(self.commit_block)
        body = {"seq": seq, "did": self.did, "rev": self.rev, "time": _iso(time or self._tick())}
        return frame("#sync", body | {"blocks": car.write_car([commit], [(commit, self.commit_block)])})

    def account_frame(self, seq: int, status: str = "active", time: datetime | None = None) -> bytes:
        """`status` active, or why the account is not."""
        body = {"seq": seq, "did": self.did, "time": _iso(time or self._tick()), "active": status == "active"}
        return frame("#account", body if status == "active" else body | {"status": status})

    def identity_frame(self, seq: int, handle: str | None = None, time: datetime | None = None) -> bytes:
        body = {"seq": seq, "did": self.did, "time": _iso(time or self._tick())}
        return frame("#identity", body | {"handle": handle} if handle else body)

    def record_proof(self, collection: str, rkey: str) -> bytes:
        """What getRecord answers: commit, path in the tree, and the record if there is one."""
        path = f"{collection}/{rkey}"
        commit = car.cid_of(self.commit_block)
        blocks = {commit: self.commit_block} | self._proof([path])
        if cid := self._cids.get(path):
            blocks[cid] = self._blocks[cid]
        return car.write_car([commit], blocks.items())

    def whole_repo(self) -> bytes:
        """What getRepo answers: commit, tree, records."""
        commit = car.cid_of(self.commit_block)
        blocks = {commit: self.commit_block} | self._proof(self._keys)
        blocks |= {cid: self._blocks[cid] for cid in self._cids.values()}
        return car.write_car([commit], blocks.items())

    @property
    def paths(self) -> tuple[str, ...]:
        """`collection/rkey` of every record, in the tree's order."""
        return tuple(self._keys)

    @property
    def commit_cid(self) -> str:
        """The newest commit."""
        return _text(car.cid_of(self.commit_block))

    def record(self, path: str) -> tuple[str, bytes]:
        """A record's CID and its bytes."""
        cid = self._cids[path]
        return _text(cid), self._blocks[cid]

    def some_blocks(self, cids: Iterable[bytes]) -> bytes | None:
        """What getBlocks answers: these blocks and no root; None when one is not here."""
        held = self._blocks | {car.cid_of(self.commit_block): self.commit_block}
        found = {cid: held.get(cid) for cid in cids}
        known = [(cid, block) for cid, block in found.items() if block is not None]
        return car.write_car([], known) if len(known) == len(found) else None

    def _tick(self) -> datetime:
        self.now += TICK
        return self.now

    def _stage(self, collection: str, rkey: str, record: Record) -> Written:
        if isinstance(record, bytes):
            block = record
        else:
            block = encode_dag_cbor({"$type": collection, **record}, atjson_mode=True)
        self._staged[f"{collection}/{rkey}"] = block
        return Written(f"at://{self.did}/{collection}/{rkey}", _text(car.cid_of(block)), rkey)

    def _apply(self, path: str, block: bytes | None) -> dict[str, Any]:
        before = self._cids.pop(path, None)
        operation: dict[str, Any] = {"path": path, "cid": None, "action": "delete"}
        if before is not None:
            operation["prev"] = CID(before)
        if block is not None:
            cid = self._cids[path] = car.cid_of(block)
            operation |= {"cid": CID(cid), "action": "create" if before is None else "update"}
        if not self._minimal:
            self._plant(path, before, block)
        return operation

    def _plant(self, path: str, before: bytes | None, block: bytes | None) -> None:
        tree = NodeWrangler(self._store)
        if block is None:
            self._root = tree.del_record(self._root, path)
        else:
            cid = car.cid_of(block)
            self._blocks[cid] = block
            self._root = tree.put_record(self._root, path, CID(cid))
        if before is None and block is not None:
            bisect.insort(self._keys, path)
        elif before is not None and block is None:
            self._keys.remove(path)

    def _proof(self, paths: Iterable[str]) -> dict[bytes, bytes]:
        """The tree's nodes on the way to each path and to its neighbours, which an inversion needs."""
        wanted = set()
        for path in paths:
            left, right = bisect.bisect_left(self._keys, path), bisect.bisect_right(self._keys, path)
            wanted |= {path, *self._keys[max(left - 1, 0) : left], *self._keys[right : right + 1]}
        nodes: dict[bytes, bytes] = {bytes(self._root): self._store.get_node(self._root).serialised}
        for path in sorted(wanted):
            _, proof = find_rpath_and_build_proof(self._store, self._root, path)
            nodes |= {bytes(cid): self._blocks[bytes(cid)] for cid in proof}
        return nodes

    def _signed_commit(self) -> bytes:
        commit: dict[str, Any] = {
            "did": self.did,
            "version": 3,
            "data": self._root,
            "rev": self.rev,
            "prev": None,
        }
        signature = bytes(64) if self._minimal else self.key.sign(encode_dag_cbor(commit))
        self.commit_block = encode_dag_cbor(commit | {"sig": signature})
        return car.cid_of(self.commit_block)


def did_of(seed: str) -> str:
    """A did:plc that belongs to the seed."""
    digest = hashlib.sha256(f"did {seed}".encode()).digest()
    return f"did:plc:{libipld.encode_multibase('b', digest)[1:25]}"


def frame(kind: str, body: Mapping[str, Any]) -> bytes:
    """A message of the stream."""
    return encode_dag_cbor({"op": 1, "t": kind}) + encode_dag_cbor(dict(body))


def info_frame(name: str = "OutdatedCursor", message: str = "Requested cursor exceeded limit.") -> bytes:
    return frame("#info", {"name": name, "message": message})


def error_frame(name: str = "FutureCursor", message: str = "Cursor in the future.") -> bytes:
    return encode_dag_cbor({"op": -1}) + encode_dag_cbor({"error": name, "message": message})


def _cid(content: bytes) -> CID:
    return CID(car.cid_of(content))


def _text(cid: bytes) -> str:
    text: str = libipld.encode_multibase("b", cid)
    return text


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
