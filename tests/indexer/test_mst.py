"""A proof shows that a record is in a repo's tree, or that it is not; half a proof shows nothing."""

import contextlib

import libipld
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import car, mst
from indexer.mst import MstError
from tests.network.forge import ForgedRepo

LIKE = "fm.svc.like"


def like(number: int) -> dict[str, object]:
    return {"number": number}


def tree(proof: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The root of the tree that a proof is about, and its blocks."""
    opened = car.read(proof)
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

        cid = mst.find(root, blocks, f"{LIKE}/key{number:04}")

        assert cid is not None
        assert libipld.decode_dag_cbor(blocks[cid])["number"] == number


@pytest.mark.parametrize("rkey", ["key", "key0000x", "key0150x", "key9999", "a", "zzz"])
def test_absence_is_proved(repo: ForgedRepo, rkey: str) -> None:
    root, blocks = tree(repo.record_proof(LIKE, rkey))

    assert mst.find(root, blocks, f"{LIKE}/{rkey}") is None


def test_an_empty_repo_holds_nothing() -> None:
    forged = ForgedRepo(seed="empty")
    forged.commit_frame(1)
    root, blocks = tree(forged.record_proof(LIKE, "self"))

    assert mst.find(root, blocks, f"{LIKE}/self") is None


def test_a_missing_node_proves_nothing(repo: ForgedRepo) -> None:
    """Without any one of the nodes on the way there is neither presence nor absence."""
    path = f"{LIKE}/key0150"
    root, blocks = tree(repo.record_proof(LIKE, "key0150"))
    refused = 0
    for cid in blocks:
        rest = {other: block for other, block in blocks.items() if other != cid}
        try:
            mst.find(root, rest, path)
        except MstError:
            refused += 1

    assert 1 <= refused < len(blocks)


A_CID = car.cid_of(b"")


@pytest.mark.parametrize(
    "node",
    [
        b"",
        b"\xff",
        libipld.encode_dag_cbor([]),
        libipld.encode_dag_cbor({"l": None}),
        libipld.encode_dag_cbor({"l": None, "e": [7]}),
        libipld.encode_dag_cbor({"l": 7, "e": []}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": 1, "k": b"a", "v": A_CID, "t": None}]}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": -1, "k": b"a", "v": A_CID, "t": None}]}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": 0, "k": "a", "v": A_CID, "t": None}]}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": 0, "k": b"", "v": A_CID, "t": None}]}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": 0, "k": b"k", "v": None, "t": None}]}),
        libipld.encode_dag_cbor({"l": None, "e": [{"p": 0, "k": b"a" * 2000, "v": A_CID, "t": None}]}),
        libipld.encode_dag_cbor({"l": A_CID, "e": []}),
    ],
)
def test_malformed_nodes_prove_nothing(node: bytes) -> None:
    cid = car.cid_of(node)

    with pytest.raises(MstError):
        mst.find(cid, {cid: node}, "k")


def test_a_tree_that_bites_its_tail_ends() -> None:
    """Impossible with true hashes; the search is bounded all the same."""
    node = libipld.encode_dag_cbor({"l": A_CID, "e": []})

    with pytest.raises(MstError, match="too deep"):
        mst.find(A_CID, {A_CID: node}, "k")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_do_more_than_refuse(node: bytes) -> None:
    cid = car.cid_of(node)
    with contextlib.suppress(MstError):
        mst.find(cid, {cid: node}, "k")
