"""Repos of any size, their trees made in one go: what would take hours commit by commit."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import libipld

from indexer.repo import car, mst
from indexer.repo.mst import Node
from schemas.ids import tid_at
from tests.bench.corpus import COLLECTIONS
from tests.bench.records import Records, Subject
from tests.network.forge import SigningKey, did_of

AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
# Of a thousand records: as people who listen more than they publish.
_SHARES: Final = {"like": 800, "comment": 120, "track": 80}
_LIKED: Final = 20_000  # tracks that all of them choose from

Blocks = dict[bytes, bytes]


class GrownRepo:
    """A signed repo; `blocks` are its tree and its records, by CID."""

    def __init__(self, seed: str, records: Mapping[str, bytes]) -> None:
        self.did, key = did_of(seed), SigningKey(seed)
        self.key = key.multibase
        self.rev = tid_at(AT)
        self.names = sorted({path.partition("/")[0] for path in records})
        self.count = len(records)
        cids = {path.encode(): car.cid_of(block) for path, block in records.items()}
        self.blocks: Blocks = dict(zip(cids.values(), records.values(), strict=True))
        self.root = planted(cids, self.blocks)
        unsigned = {"did": self.did, "version": 3, "data": self.root, "rev": self.rev, "prev": None}
        commit = unsigned | {"sig": key.sign(libipld.encode_dag_cbor(unsigned))}
        block = libipld.encode_dag_cbor(commit)
        self.commit = car.cid_of(block)
        self.blocks[self.commit] = block

    def proof(self, path: str) -> bytes:
        """What getRecord answers when there is no such record."""
        key, cid = path.encode(), self.root
        found = [self.commit, cid]
        while True:
            node = mst.read_node(self.blocks[cid])
            subtree = node.subtrees[bisect_left(node.keys, key)]
            if subtree is None:
                return self.some(found, roots=[self.commit])
            cid = subtree
            found.append(cid)

    def some(self, cids: Iterable[bytes], roots: Iterable[bytes] = ()) -> bytes:
        """What getBlocks answers."""
        return car.write_car(roots, ((cid, self.blocks[cid]) for cid in cids))

    def pieces(self) -> Iterator[bytes]:
        """What getRepo answers."""
        yield car.write_car([self.commit], [])
        header = len(car.write_car([], []))
        for cid, block in self.blocks.items():
            yield car.write_car([], [(cid, block)])[header:]


def planted(cids: Mapping[bytes, bytes], blocks: Blocks) -> bytes:
    """Put the nodes of the tree of these records to the blocks. Returns the root."""
    keys = sorted(cids)
    layers = [mst.layer_of(key) for key in keys]

    def plant(start: int, end: int, layer: int) -> bytes | None:
        if start == end:
            return None
        node, before = Node([], [], []), start
        for at in range(start, end):
            if layers[at] == layer:
                node.subtrees.append(plant(before, at, layer - 1))
                node.keys.append(keys[at])
                node.values.append(cids[keys[at]])
                before = at + 1
        node.subtrees.append(plant(before, end, layer - 1))
        block = mst.write_node(node)
        cid = car.cid_of(block)
        blocks[cid] = block
        return cid

    return plant(0, len(keys), max(layers, default=0)) or mst.EMPTY


def records_of(seed: int, ours: int, others: int, filling: int = 0) -> dict[str, bytes]:
    """Records of ours, and of another application's, which are `filling` bytes longer than need be."""
    records, made = Records(seed), dict[str, bytes]()
    for number in range(ours):
        [kind] = records.rng.choices(list(_SHARES), list(_SHARES.values()))
        made[f"{COLLECTIONS.namespace}.{kind}/{_rkey(number)}"] = _encoded(kind, _drawn(records, kind))
    for number in range(others):
        text = records.words.sentence(8, 40) + "." * filling
        made[f"app.bsky.feed.post/{_rkey(number)}"] = libipld.encode_dag_cbor({"text": text, "n": number})
    return made


def _drawn(records: Records, kind: str) -> dict[str, Any]:
    match kind:
        case "like":
            return records.like(AT, _subject(records))
        case "comment":
            return records.comment(AT, _subject(records))
        case _:
            return records.track(AT, records.words.name(), None, None)


def _subject(records: Records) -> Subject:
    """Somebody's track, who is not here."""
    uri = f"at://{did_of('an artist')}/{COLLECTIONS.track}/{_rkey(records.rng.randrange(_LIKED))}"
    return Subject(uri, libipld.encode_multibase("b", car.cid_of(uri.encode())))


def _encoded(kind: str, document: dict[str, Any]) -> bytes:
    block: bytes = libipld.encode_dag_cbor({"$type": f"{COLLECTIONS.namespace}.{kind}", **document})
    return block


def _rkey(number: int) -> str:
    """Some time apart, as keys in the tree of somebody's years are."""
    return tid_at(datetime.fromtimestamp(AT.timestamp() - 86_400 - number * 977, UTC))
