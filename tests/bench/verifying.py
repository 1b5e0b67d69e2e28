"""What each check of a commit costs, and of a label.

    python -m tests.bench.verifying

Commits of one post each, on repos of 1,500 records. Each check is timed by itself over all of them, in CPU
time; the figures are the best of the rounds.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import libipld

from indexer.events import Commit
from indexer.labels.signed import read_label
from indexer.repo import car, dag_cbor, signing_keys, verify
from indexer.repo.partial_tree import PartialTree
from indexer.repo.signing_keys import Key
from indexer.stream.decode import decode_frame
from indexer.stream.envelope import unwrap_frame
from schemas.collections import Collections
from tests.bench import decoding
from tests.bench.rows import Row, rounded
from tests.network.forge import START, Curve, ForgedRepo, SigningKey, frame

NAME: Final = "verified commits, one core, from frame to verdict"
COLLECTIONS: Final = Collections().all
P256: Final = SigningKey("bench", "p256")
CURVES: Final[tuple[Curve, ...]] = ("k256", "p256")
LABELER: Final = "did:plc:labelerlabelerlabelerlab"
SUBJECT: Final = f"at://{LABELER}/fm.svc.track/3kznmn7xqx"
CTS: Final = "2026-01-01T00:00:00.000Z"
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)
P256_KEY: Final = signing_keys.parse_key(P256.multibase)


class Case(NamedTuple):
    """A commit, in all the forms that its checks begin with."""

    raw: bytes
    car: bytes
    commit: Commit
    key: Key
    signed: bytes
    signature: bytes
    p256_signature: bytes
    tree: bytes


class LabelCase(NamedTuple):
    """A labeler's message, and its key."""

    raw: bytes
    key: Key


def cases(count: int) -> list[Case]:
    known = {repo.did: repo for repo in (ForgedRepo(seed=f"repo {at}") for at in range(decoding.REPOS))}
    found = []
    for raw in decoding.make_frames(count):
        [commit] = decode_frame(raw, COLLECTIONS, known, START.replace(year=2030))
        if not isinstance(commit, Commit):
            raise TypeError("every frame is a commit of a known repo")
        fields = libipld.decode_dag_cbor(commit.blocks[commit.cid])
        signature, key = fields.pop("sig"), signing_keys.parse_key(known[commit.did].key.multibase)
        signed = libipld.encode_dag_cbor(fields)
        blocks = unwrap_frame(raw)[1]["blocks"]
        found.append(Case(raw, blocks, commit, key, signed, signature, P256.sign(signed), fields["data"]))
    return found


def _decode(case: Case) -> object:
    return decode_frame(case.raw, COLLECTIONS, {case.commit.did}, case.commit.time)


def _records(case: Case) -> None:
    for operation in case.commit.operations:
        if operation.cid is not None:
            dag_cbor.decode_block(case.commit.blocks[operation.cid])


def _tree(case: Case) -> PartialTree:
    paths = [operation.path.encode() for operation in case.commit.operations]
    tree = PartialTree(case.tree, case.commit.blocks, paths)
    for path in paths:
        tree.value(path)
    return tree


def _inversion(case: Case) -> None:
    tree = _tree(case)
    verify.undo_operations(tree, case.commit.operations)
    if tree.root() != case.commit.prev_data:
        raise ValueError("every commit is genuine")


CHECKS: Final[dict[str, Callable[[Case], object]]] = {
    "message decoded": lambda case: libipld.decode_dag_cbor_multi(case.raw),
    "CAR split, every CID compared": lambda case: car.read_car(case.car),
    "both, with sizes, syntax and rev": _decode,
    "signature, k256": lambda case: case.key.verifies(case.signature, case.signed),
    "signature, p256": lambda case: P256_KEY.verifies(case.p256_signature, case.signed),
    "commit object, with its k256 signature": lambda case: verify.verify_head(
        case.commit.blocks, case.commit.cid, case.commit.did, case.key
    ),
    "records' canonical form": _records,
    "nodes' form, layers and order; operations in the tree": _tree,
    "the same, and the operations undone": _inversion,
}


def rows(count: int = 100, rounds: int = 40) -> Iterator[Row]:
    """Microseconds a commit for each check, and how many commits a second that comes to."""
    made = cases(count)
    costs = {name: _microseconds(check, made, rounds) for name, check in CHECKS.items()}
    whole = _microseconds(
        lambda case: (_decode(case), verify.verify_commit(case.commit, case.key)), made, rounds
    )
    yield Row(NAME, rounded(1e6 / whole), "commits per CPU second")
    for name, cost in costs.items():
        yield Row(f"verifying a commit: {name}", rounded(cost), "µs")
    yield Row("verifying a commit: all of it", rounded(whole), "µs")
    for curve, labels in ((curve, _labels(curve, count)) for curve in CURVES):
        cost = _microseconds(_verify_label, labels, rounds)
        yield Row(f"verified labels, one core, {curve}", rounded(1e6 / cost), "labels per CPU second")


def _labels(curve: Curve, count: int) -> list[LabelCase]:
    """Labels in messages of one each, as labelers send them."""
    key = SigningKey("bench labeler", curve)
    made = []
    for number in range(count):
        label = {"ver": 1, "src": LABELER, "uri": f"{SUBJECT}{number:03}", "val": "spam", "cts": CTS}
        signed = label | {"sig": key.sign(libipld.encode_dag_cbor(label))}
        message = frame("#labels", {"seq": number + 1, "labels": [signed]})
        made.append(LabelCase(message, signing_keys.parse_key(key.multibase)))
    return made


def _verify_label(case: LabelCase) -> None:
    [label] = unwrap_frame(case.raw)[1]["labels"]
    if not read_label(label, LABELER, NOW).is_signed_by(case.key):
        raise ValueError("every label is genuine")


def _microseconds(check: Callable[[Any], object], made: Sequence[Any], rounds: int) -> float:
    best = math.inf
    for _ in range(rounds):
        started = time.process_time()
        for case in made:
            check(case)
        best = min(best, time.process_time() - started)
    return best / len(made) * 1e6


if __name__ == "__main__":
    for row in rows():
        print(row.line())
