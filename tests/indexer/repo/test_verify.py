"""What an account signed is believed as far as its tree shows it; anything else is refused, and says why."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import libipld
import pytest
from cbrrr import CID, encode_dag_cbor

from indexer.events import Commit, Event, Malformed, Sync
from indexer.repo import car, mst, signing_keys, verify
from indexer.repo.mst import Node
from indexer.repo.verify import Refused, Unproven
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from schemas.ids import tid_at
from tests.indexer.tampering import (
    body_of,
    opened,
    rebuilt,
    with_blocks,
    with_commit,
    with_commit_block,
)
from tests.network.forge import ForgedRepo

LIKE, POST = "fm.svc.like", "app.bsky.feed.post"
OURS = Collections().all
NOW = datetime(2025, 1, 1, 1, tzinfo=UTC)
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141  # of k256
EVE = ForgedRepo(seed="eve")


def event(raw: bytes, repo: ForgedRepo) -> Event:
    [found] = decode_frame(raw, OURS, {repo.did}, NOW)
    return found


def commit(raw: bytes, repo: ForgedRepo) -> Commit:
    found = event(raw, repo)
    assert isinstance(found, Commit)
    return found


def judged(raw: bytes, repo: ForgedRepo) -> str:
    """What a frame comes to: `believed`, or the check that it does not pass and why."""
    found = event(raw, repo)
    if isinstance(found, Malformed):
        return f"envelope: {found.reason}"
    assert isinstance(found, Commit)
    try:
        verify.verify_commit(found, signing_keys.parse_key(repo.key.multibase))
    except Refused as refused:
        return f"{refused.check}: {refused}"
    except Unproven as unproven:
        return f"unproven: {unproven}"
    return "believed"


def signature_of(raw: bytes) -> bytes:
    blocks = opened(raw)
    signature: bytes = libipld.decode_dag_cbor(blocks.blocks[blocks.roots[0]])["sig"]
    return signature


def looks_like_a_link(value: bytes) -> bool:
    return bool(libipld.encode_dag_cbor(value) != encode_dag_cbor(value))


@pytest.fixture
def repo() -> ForgedRepo:
    """An account with 60 records."""
    return account()


def account(seed: str = "ana") -> ForgedRepo:
    forged = ForgedRepo(seed=seed)
    for number in range(60):
        forged.create(LIKE if number % 2 else POST, {"number": number}, rkey=f"key{number:02}")
    forged.commit_frame(1)
    return forged


def genuine(repo: ForgedRepo) -> bytes:
    """A commit that creates, updates and deletes."""
    repo.create(LIKE, {"number": 100}, rkey="key100")
    repo.create(POST, {"number": 101}, rkey="key101")
    repo.update(LIKE, "key11", {"number": 111})
    repo.delete(LIKE, "key33")
    return repo.commit_frame(2)


def test_a_genuine_commit_is_believed(repo: ForgedRepo) -> None:
    """And tells where its repo stands."""
    raw = genuine(repo)
    found = commit(raw, repo)

    head = verify.verify_commit(found, signing_keys.parse_key(repo.key.multibase))

    assert (head.did, head.rev, head.cid) == (repo.did, repo.rev, car.cid_of(repo.commit_block))
    assert head.data == libipld.decode_dag_cbor(repo.commit_block)["data"]


def test_a_signature_that_looks_like_a_link_is_believed_like_any_other(repo: ForgedRepo) -> None:
    """To libipld, one of a thousand does."""
    raw = genuine(repo)
    signed = (with_commit(raw, repo.key, number=number) for number in range(20_000))
    unlucky = next(made for made in signed if looks_like_a_link(signature_of(made)))

    assert judged(unlucky, repo) == "believed"


@pytest.mark.parametrize("curve", ["k256", "p256"])
def test_a_repo_that_grows_and_shrinks_is_believed_all_along(curve: str) -> None:
    """From its first commit to the one that empties it, with either kind of key."""
    repo = ForgedRepo(seed="grows", curve=curve)  # type: ignore[arg-type]
    chance = random.Random(3)
    held: list[str] = []
    for seq in range(120):
        created: list[str] = []
        for _ in range(chance.choice([0, 1, 1, 2, 6])):
            if held and chance.random() < (0.3 if seq < 80 else 0.8):
                repo.delete(LIKE, held.pop(chance.randrange(len(held))))
            else:
                created.append(repo.create(LIKE, {"seq": seq}).rkey)
        assert judged(repo.commit_frame(seq), repo) == "believed", seq
        held += created
    for rkey in held:
        repo.delete(LIKE, rkey)

    assert judged(repo.commit_frame(999), repo) == "believed"


def wrong_signature(repo: ForgedRepo) -> bytes:
    raw = genuine(repo)
    signature = libipld.decode_dag_cbor(repo.commit_block)["sig"]
    return with_commit(raw, repo.key, sig=signature[:-1] + bytes([signature[-1] ^ 1]))


def no_signature(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, sig=None)


def high_s(repo: ForgedRepo) -> bytes:
    raw = genuine(repo)
    signature = libipld.decode_dag_cbor(repo.commit_block)["sig"]
    high = ORDER - int.from_bytes(signature[32:], "big")
    return with_commit(raw, repo.key, sig=signature[:32] + high.to_bytes(32, "big"))


def signed_by_another(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), EVE.key)


def true_commit_of_another(repo: ForgedRepo) -> bytes:
    """All of it is genuine but for the name on the envelope."""
    return rebuilt(body_of(genuine(account("eve"))), repo=repo.did)


def another_did_in_the_commit(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, did=EVE.did)


def commit_of_version_2(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, version=2)


def commit_of_version_3_in_floating_point(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, version=3.0)


def link_rewritten_as_bytes(repo: ForgedRepo) -> bytes:
    """By anybody: what was signed has a link there."""
    raw = genuine(repo)
    return with_commit_block(raw, encode_dag_cbor(libipld.decode_dag_cbor(repo.commit_block)))


def commit_without_a_tree(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, data=None)


def commit_without_a_rev(repo: ForgedRepo) -> bytes:
    return with_commit(genuine(repo), repo.key, rev="yesterday")


def envelope_with_another_rev(repo: ForgedRepo) -> bytes:
    return rebuilt(body_of(genuine(repo)), rev=tid_at(repo.now + timedelta(minutes=1)))


def rev_in_the_future(repo: ForgedRepo) -> bytes:
    return repo.commit_frame(2, time=NOW + timedelta(minutes=6))


def rev_that_goes_back(repo: ForgedRepo) -> bytes:
    body = body_of(genuine(repo))
    return rebuilt(body, since=body["rev"])


def block_swapped_under_its_cid(repo: ForgedRepo) -> bytes:
    record = repo.create(LIKE, {"number": 1}, rkey="key100")
    return with_blocks(repo.commit_frame(2), {bytes(CID.decode(record.cid)): b"\xa0"})


def record_swapped_with_its_cid(repo: ForgedRepo) -> bytes:
    """Envelope and CAR agree on another record than the one that was signed."""
    block = encode_dag_cbor({"$type": LIKE, "number": 7})
    body = body_of(genuine(repo))
    return with_blocks(changed(body, f"{LIKE}/key100", cid=car.cid_of(block)), {car.cid_of(block): block})


def changed(body: dict[str, object], path: str, **changes: object) -> bytes:
    """With one operation saying something else."""
    operations = body["ops"]
    assert isinstance(operations, list)
    return rebuilt(body, ops=[each | changes if each["path"] == path else each for each in operations])


def operation_that_never_was(repo: ForgedRepo) -> bytes:
    block = encode_dag_cbor({"$type": LIKE, "number": 7})
    body = body_of(genuine(repo))
    made_up = {"action": "create", "path": f"{LIKE}/key100x", "cid": car.cid_of(block)}
    return with_blocks(rebuilt(body, ops=[*body["ops"], made_up]), {car.cid_of(block): block})


def deletion_that_never_was(repo: ForgedRepo) -> bytes:
    """The record is in the tree still; the proof of it, for once, is there as well."""
    raw = genuine(repo)
    body = body_of(raw)
    proof, path = car.read_car(repo.record_proof(LIKE, "key45")).blocks, f"{LIKE}/key45"
    prev = mst.find_cid(libipld.decode_dag_cbor(repo.commit_block)["data"], proof, path)
    made_up = {"action": "delete", "path": path, "cid": None, "prev": prev}
    return with_blocks(rebuilt(body, ops=[*body["ops"], made_up]), proof)


def operation_kept_quiet(repo: ForgedRepo) -> bytes:
    body = body_of(genuine(repo))
    return rebuilt(body, ops=[each for each in body["ops"] if each["path"] != f"{POST}/key101"])


def deletion_kept_quiet(repo: ForgedRepo) -> bytes:
    body = body_of(genuine(repo))
    return rebuilt(body, ops=[each for each in body["ops"] if each["action"] != "delete"])


def create_called_an_update(repo: ForgedRepo) -> bytes:
    return changed(body_of(genuine(repo)), f"{LIKE}/key100", action="update", prev=car.cid_of(b"never"))


def another_version_before(repo: ForgedRepo) -> bytes:
    return changed(body_of(genuine(repo)), f"{LIKE}/key11", prev=car.cid_of(b"never"))


def another_tree_before(repo: ForgedRepo) -> bytes:
    return rebuilt(body_of(genuine(repo)), prevData=mst.EMPTY)


def no_tree_before(repo: ForgedRepo) -> bytes:
    """As if the repo had begun with this commit."""
    return rebuilt(body_of(genuine(repo)), prevData=None, since=None)


def node_left_out(repo: ForgedRepo) -> bytes:
    raw = genuine(repo)
    return with_blocks(raw, {}, frozenset([libipld.decode_dag_cbor(repo.commit_block)["data"]]))


def tree_of_another_shape(repo: ForgedRepo) -> bytes:
    """Signed by the account itself: two keys in one node that belong in different layers."""
    paths = sorted([f"{LIKE}/key0".encode(), f"{LIKE}/key12".encode()])
    assert {mst.layer_of(path) for path in paths} == {0, 3}
    record = encode_dag_cbor({"$type": LIKE})
    cid = car.cid_of(record)
    node = mst.write_node(Node(paths, [cid, cid], [None] * 3))
    operations = [{"action": "create", "path": path.decode(), "cid": cid} for path in paths]
    raw = rebuilt(body_of(repo.commit_frame(2)), ops=operations, prevData=mst.EMPTY)
    return with_blocks(
        with_commit(raw, repo.key, data=car.cid_of(node)), {cid: record, car.cid_of(node): node}
    )


def commit_that_is_not_canonical(repo: ForgedRepo) -> bytes:
    """The version, 3, in two bytes."""
    raw = genuine(repo)
    return with_commit_block(raw, repo.commit_block.replace(b"version\x03", b"version\x18\x03"))


def commit_that_is_text(repo: ForgedRepo) -> bytes:
    return with_commit_block(genuine(repo), b"a commit")


def path_with_bad_syntax(repo: ForgedRepo) -> bytes:
    repo.create(LIKE, {"number": 1}, rkey="a b")
    return repo.commit_frame(2)


def record_too_large(repo: ForgedRepo) -> bytes:
    repo.create(LIKE, {"text": "x" * 1_000_000}, rkey="key100")
    return repo.commit_frame(2)


def blocks_too_large(repo: ForgedRepo) -> bytes:
    for number in range(3):
        repo.create(LIKE, {"text": str(number) * 700_000}, rkey=f"key10{number}")
    return repo.commit_frame(2)


def too_many_operations(repo: ForgedRepo) -> bytes:
    for number in range(201):
        repo.create(LIKE, {"number": number}, rkey=f"key{number + 100}")
    return repo.commit_frame(2)


FORGERIES: list[tuple[Callable[[ForgedRepo], bytes], str]] = [
    (wrong_signature, "signature: the signature is not the account's"),
    (no_signature, "signature: the signature is not the account's"),
    (high_s, "signature: the signature is not the account's"),
    (signed_by_another, "signature: the signature is not the account's"),
    (true_commit_of_another, "commit object: the commit is another account's"),
    (another_did_in_the_commit, "commit object: the commit is another account's"),
    (commit_of_version_2, "commit object: the commit is not version 3"),
    (commit_of_version_3_in_floating_point, "commit object: the commit is not version 3"),
    (link_rewritten_as_bytes, "commit object: the commit object is not as it was signed"),
    (commit_without_a_tree, "commit object: the commit has no tree"),
    (commit_without_a_rev, "commit object: the commit's rev is not a TID"),
    (commit_that_is_not_canonical, "commit object: the commit object is not canonical DAG-CBOR"),
    (commit_that_is_text, "commit object: the commit object is not DAG-CBOR"),
    (envelope_with_another_rev, "envelope: the message names another rev than its commit"),
    (rev_in_the_future, "envelope: rev lies in the future"),
    (rev_that_goes_back, "envelope: rev does not follow since"),
    (block_swapped_under_its_cid, "envelope: a block does not match its CID"),
    (path_with_bad_syntax, "envelope: an operation's record key is malformed"),
    (record_too_large, "envelope: an operation's record is too large"),
    (blocks_too_large, "envelope: the CAR is too large"),
    (too_many_operations, "envelope: the commit has too many operations"),
    (record_swapped_with_its_cid, "operation: an operation is not in the tree"),
    (operation_that_never_was, "operation: an operation is not in the tree"),
    (deletion_that_never_was, "operation: an operation is not in the tree"),
    (node_left_out, "tree: a node of the tree is missing"),
    (tree_of_another_shape, "tree: a key stands in the wrong layer of the tree"),
    (operation_kept_quiet, "inversion: without the operations the tree is not the one before"),
    (deletion_kept_quiet, "inversion: without the operations the tree is not the one before"),
    (create_called_an_update, "inversion: without the operations the tree is not the one before"),
    (another_version_before, "inversion: without the operations the tree is not the one before"),
    (another_tree_before, "inversion: without the operations the tree is not the one before"),
    (no_tree_before, "inversion: without the operations the tree is not the one before"),
]


@pytest.mark.parametrize(("forge", "verdict"), FORGERIES, ids=[forge.__name__ for forge, _ in FORGERIES])
def test_forged_commits_are_refused(
    repo: ForgedRepo, forge: Callable[[ForgedRepo], bytes], verdict: str
) -> None:
    assert judged(forge(repo), repo) == verdict


@pytest.mark.parametrize("field", ["prevData", "prev"])
def test_a_commit_from_before_version_1_1_of_sync_is_not_called_forged(repo: ForgedRepo, field: str) -> None:
    """It does not say what it began with, so its repo has to be asked."""
    body = body_of(genuine(repo))
    if field == "prevData":
        raw = rebuilt(body, prevData=None)
    else:
        raw = rebuilt(body, ops=[{key: each[key] for key in each if key != "prev"} for each in body["ops"]])

    assert judged(raw, repo).startswith("unproven: ")


def test_every_check_is_named() -> None:
    """The names are what refusals are counted by."""
    told = {verdict.partition(":")[0] for _, verdict in FORGERIES}

    assert told == {*verify.CHECKS}


def test_any_block_of_a_proof_that_is_left_out_is_missed_or_not_needed(repo: ForgedRepo) -> None:
    raw = genuine(repo)
    verdicts = {judged(with_blocks(raw, {}, frozenset([cid])), repo) for cid in opened(raw).blocks}

    assert verdicts >= {"tree: a node of the tree is missing", "believed"}
    assert all(verdict == "believed" or "missing" in verdict or "not in" in verdict for verdict in verdicts)


def test_a_state_is_believed_when_it_is_signed(repo: ForgedRepo) -> None:
    found = event(repo.sync_frame(2), repo)
    assert isinstance(found, Sync)

    head = verify.verify_sync(found, signing_keys.parse_key(repo.key.multibase))

    assert (head.rev, head.cid) == (repo.rev, found.cid)
    with pytest.raises(Refused, match="signature"):
        verify.verify_sync(found, signing_keys.parse_key(EVE.key.multibase))
    with pytest.raises(Refused, match="another rev"):
        verify.verify_sync(replace(found, rev=tid_at(NOW)), signing_keys.parse_key(repo.key.multibase))
    with pytest.raises(Refused, match="another account"):
        verify.verify_sync(replace(found, did=EVE.did), signing_keys.parse_key(repo.key.multibase))  # type: ignore[arg-type]
