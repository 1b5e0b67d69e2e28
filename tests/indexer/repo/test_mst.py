"""A tree proves what is in it and what is not, and only a well-formed tree proves anything."""

import contextlib
import os
from collections.abc import Callable
from typing import Any

import libipld
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.repo import car, mst
from indexer.repo.mst import Absent, MissingNode, MstError, Node
from indexer.repo.partial_tree import PartialTree
from tests import interop
from tests.indexer.trees import PATHS, RandomTree, record_cid
from tests.network.forge import ForgedRepo

LIKE = "fm.svc.like"
A_CID = car.cid_of(b"")
CASES = int(os.environ.get("TREE_CASES", "4000"))
STEPS = 25  # of one tree
PARTS = 4


def like(number: int) -> dict[str, object]:
    return {"number": number}


def tree(proof: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The root of the tree that a proof is about, and its blocks."""
    opened = car.read_car(proof)
    commit = libipld.decode_dag_cbor(opened.blocks[opened.roots[0]])
    return commit["data"], opened.blocks


@pytest.fixture(scope="module")
def repo() -> ForgedRepo:
    """An account with 300 records in several layers."""
    forged = ForgedRepo(seed="mst")
    for number in range(300):
        forged.create(LIKE, like(number), rkey=f"key{number:04}")
    forged.commit_frame(1)
    return forged


def test_every_record_is_found_by_its_proof(repo: ForgedRepo) -> None:
    for number in range(300):
        root, blocks = tree(repo.record_proof(LIKE, f"key{number:04}"))

        cid = mst.find_cid(root, blocks, f"{LIKE}/key{number:04}")

        assert cid is not None
        assert libipld.decode_dag_cbor(blocks[cid])["number"] == number


@pytest.mark.parametrize("rkey", ["key", "key0000x", "key0150x", "key9999", "a", "zzz"])
def test_absence_is_proved(repo: ForgedRepo, rkey: str) -> None:
    root, blocks = tree(repo.record_proof(LIKE, rkey))

    assert mst.find_cid(root, blocks, f"{LIKE}/{rkey}") is None


def test_an_empty_repo_holds_nothing() -> None:
    forged = ForgedRepo(seed="empty")
    forged.commit_frame(1)
    root, blocks = tree(forged.record_proof(LIKE, "self"))

    assert root == mst.EMPTY
    assert mst.find_cid(root, blocks, f"{LIKE}/self") is None
    assert list(mst.walk_keys(root, blocks.get)) == []


def test_a_missing_node_proves_nothing(repo: ForgedRepo) -> None:
    """Without any one of the nodes on the way there is neither presence nor absence."""
    path = f"{LIKE}/key0150"
    root, blocks = tree(repo.record_proof(LIKE, "key0150"))
    refused = 0
    for cid in blocks:
        rest = {other: block for other, block in blocks.items() if other != cid}
        try:
            mst.find_cid(root, rest, path)
        except MissingNode as missing:
            refused += missing.cid == cid

    assert 1 <= refused < len(blocks)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_trees_are_read_as_they_were_written(part: int) -> None:
    """By another implementation: every key found, every other absent, any range walked in order."""
    for seed in range(part, CASES // STEPS // 4, PARTS):
        grown = RandomTree(seed)
        for _ in range(STEPS):
            grown.step()
            start, end = sorted(grown.chance.sample(PATHS, 2))
            whole = [(path.encode(), cid) for path, cid in sorted(grown.records.items())]
            within = [(key, cid) for key, cid in whole if start.encode() <= key < end.encode()]
            path = grown.chance.choice(PATHS)

            assert list(mst.walk_keys(grown.root, grown.blocks.get)) == whole
            assert list(mst.walk_keys(grown.root, grown.blocks.get, start.encode(), end.encode())) == within
            assert mst.find_cid(grown.root, grown.proof([path]), path) == grown.records.get(path)


def test_a_range_is_collected_node_by_node() -> None:
    """Going on from what was missing, again and again, a walk in the end has its range and not much more."""
    grown = RandomTree(4)
    for _ in range(40):
        grown.step()
    held: dict[bytes, bytes] = {}
    found: dict[bytes, bytes] = {}
    ahead = [Absent(grown.root, None)]
    while ahead:
        held |= {absent.cid: grown.blocks[absent.cid] for absent in ahead}
        missing: list[Absent] = []
        for absent in ahead:
            found |= mst.walk_keys(absent, held.get, b"fm.svc.like/", b"fm.svc.like0", missing)
        ahead = missing

    assert found == {
        path.encode(): cid for path, cid in grown.records.items() if path.startswith("fm.svc.like/")
    }
    assert len(held) < len(grown.whole())
    with pytest.raises(MissingNode):
        list(mst.walk_keys(grown.root, held.get))


def test_the_layer_of_a_key_follows_from_its_hash() -> None:
    for case in interop.cases("mst/key_heights.json"):
        assert mst.layer_of(case["key"].encode()) == case["height"]


def test_keys_share_what_they_begin_with() -> None:
    for case in interop.cases("mst/common_prefix.json"):
        assert mst.shared_bytes(case["left"].encode(), case["right"].encode()) == case["len"]


def test_the_public_example_keys_stand_where_they_say() -> None:
    """The digit in each key is its layer; a tree of all of them is as another implementation builds it."""
    keys = interop.lines("mst/example_keys.txt")
    grown = RandomTree(0)
    grown.plant({key: record_cid(key) for key in keys})

    assert [mst.layer_of(key.encode()) for key in keys] == [int(key[1]) for key in keys]
    assert [key for key, _ in mst.walk_keys(grown.root, grown.blocks.get)] == [key.encode() for key in keys]


def entry(**changes: object) -> dict[str, object]:
    return {"p": 0, "k": b"a.b/c", "v": A_CID, "t": None} | changes


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (b"", "is not DAG-CBOR"),
        (b"\xff", "is not DAG-CBOR"),
        (libipld.encode_dag_cbor([]), "wrong fields"),
        (libipld.encode_dag_cbor(7), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": [], "x": 1}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": None}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": ""}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": {}}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": [7]}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": 7, "e": []}), "not a CID"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(x=1)]}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(p=1)]}), "not shortened"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(p=-1)]}), "not shortened"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(p=True)]}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k="a.b/c")]}), "wrong fields"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(v=None)]}), "no record"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(t=b"x")]}), "not a CID"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(), entry()]}), "not shortened"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(), entry(p=5, k=b"")]}), "out of order"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(), entry(p=4, k=b"b")]}), "out of order"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"")]}), "out of order"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"a.b/" + b"c" * 1021)]}), "not a path"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"key")]}), "not a path"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"a/b/c")]}), "not a path"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"a.b/ c")]}), "not a path"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k=b"/a")]}), "not a path"),
        (libipld.encode_dag_cbor({"l": None, "e": [entry(k="a.b/é".encode())]}), "not a path"),
        (b"\xa2\x61e\x80\x61l\x58\x24" + A_CID, "not canonical"),  # bytes, where there has to be a link
        (b"\xb8\x02\x61e\x80\x61l\xf6", "not canonical"),  # a length of two bytes, where one would do
    ],
)
def test_a_malformed_node_proves_nothing(node: bytes, why: str) -> None:
    cid = car.cid_of(node)

    for ask in QUESTIONS:
        with pytest.raises(MstError, match=why):
            ask(cid, {cid: node})


QUESTIONS: list[Callable[[bytes, dict[bytes, bytes]], Any]] = [
    lambda root, blocks: mst.find_cid(root, blocks, "zzz.z/last"),
    lambda root, blocks: list(mst.walk_keys(root, blocks.get)),
    lambda root, blocks: list(mst.walk_keys(root, blocks.get, missing=[])),
    lambda root, blocks: PartialTree(root, blocks, [b"fm.svc.like/key5", b"zzz.z/last"]),
]


def keys_of_layer(layer: int) -> list[bytes]:
    paths = (f"fm.svc.like/key{number}".encode() for number in range(2000))
    return [path for path in paths if mst.layer_of(path) == layer]


LOW, MIDDLE, HIGH = (sorted(keys_of_layer(layer)) for layer in range(3))


class Planted:
    """Nodes put together at will."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, bytes] = {}

    def node(self, *row: bytes | None) -> bytes:
        """Subtrees and keys in turn, a subtree first and last."""
        keys = [key for key in row[1::2] if key is not None]
        block = mst.write_node(Node(keys, [A_CID] * len(keys), [*row[::2]]))
        self.blocks[car.cid_of(block)] = block
        return car.cid_of(block)


def wrong_layer_beside_another(tree: Planted) -> bytes:
    first, second = sorted([LOW[0], MIDDLE[0]])
    return tree.node(None, first, None, second, None)


def child_as_high_as_its_parent(tree: Planted) -> bytes:
    return tree.node(tree.node(None, MIDDLE[0], None), MIDDLE[1], None)


def child_two_layers_down(tree: Planted) -> bytes:
    low = next(key for key in LOW if key > HIGH[0])
    return tree.node(None, HIGH[0], tree.node(None, low, None))


def child_below_the_lowest_layer(tree: Planted) -> bytes:
    return tree.node(tree.node(None, LOW[0], None), LOW[1], None)


def child_beyond_its_right_neighbour(tree: Planted) -> bytes:
    beyond = next(key for key in LOW if key > MIDDLE[1])
    return tree.node(None, MIDDLE[0], tree.node(None, beyond, None), MIDDLE[1], None)


def child_before_its_left_neighbour(tree: Planted) -> bytes:
    before = next(key for key in LOW if key < MIDDLE[1])
    return tree.node(None, MIDDLE[1], tree.node(None, before, None))


def grandchild_beyond_its_grandparent(tree: Planted) -> bytes:
    beyond = next(key for key in LOW if key > HIGH[0])
    return tree.node(tree.node(tree.node(None, beyond, None)), HIGH[0], None)


def root_without_keys(tree: Planted) -> bytes:
    return tree.node(tree.node(None, LOW[0], None))


def empty_child(tree: Planted) -> bytes:
    return tree.node(tree.node(None), MIDDLE[0], None)


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (wrong_layer_beside_another, "wrong layer"),
        (child_as_high_as_its_parent, "wrong layer"),
        (child_two_layers_down, "wrong layer"),
        (child_below_the_lowest_layer, "deeper than its lowest layer"),
        (child_beyond_its_right_neighbour, "out of order"),
        (child_before_its_left_neighbour, "out of order"),
        (grandchild_beyond_its_grandparent, "out of order"),
        (root_without_keys, "root of the tree has no keys"),
        (empty_child, "node of the tree is empty"),
    ],
)
def test_a_tree_of_another_shape_is_refused(plant: Callable[[Planted], bytes], why: str) -> None:
    """Records make one tree only; with a second one, the same records could be shown and denied."""
    planted = Planted()
    root = plant(planted)
    keys = [*LOW, *MIDDLE, *HIGH]

    with pytest.raises(MstError, match=why):
        list(mst.walk_keys(root, planted.blocks.get))
    with pytest.raises(MstError, match=why):
        [mst.find_cid(root, planted.blocks, key.decode()) for key in keys]
    with pytest.raises(MstError, match=why):
        PartialTree(root, planted.blocks, keys)


def test_a_well_formed_tree_of_the_same_kind_is_read() -> None:
    """The trees above are refused for their faults and for nothing else."""
    planted = Planted()
    low = next(key for key in LOW if key > MIDDLE[0])
    root = planted.node(None, MIDDLE[0], planted.node(None, low, None))

    assert list(mst.walk_keys(root, planted.blocks.get)) == [(MIDDLE[0], A_CID), (low, A_CID)]
    assert mst.find_cid(root, planted.blocks, low.decode()) == A_CID


def test_a_tree_that_bites_its_tail_ends() -> None:
    """Impossible with true hashes; the search is bounded all the same, by layers and order."""
    node = mst.write_node(Node([MIDDLE[0]], [A_CID], [A_CID, A_CID]))

    for ask in QUESTIONS:
        with pytest.raises(MstError):
            ask(A_CID, {A_CID: node})


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_do_more_than_refuse(node: bytes) -> None:
    cid = car.cid_of(node)
    for ask in QUESTIONS:
        with contextlib.suppress(MstError):
            ask(cid, {cid: node})
