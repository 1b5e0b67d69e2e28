"""A commit's operations, undone in the tree that it shows, give the tree before it, and no other."""

import contextlib
import os
from dataclasses import replace

import pytest
from cbrrr import CID

from indexer.events import Operation
from indexer.repo import mst, verify
from indexer.repo.mst import MissingNode, MstError
from indexer.repo.partial_tree import PartialTree
from tests import interop
from tests.indexer.trees import PATHS, RandomTree, Step, record_cid

CASES = int(os.environ.get("TREE_CASES", "4000"))
STEPS = 25  # of one tree
PARTS = 8


def undone(step: Step, blocks: dict[bytes, bytes]) -> bytes:
    """The CID of the tree that the operations are said to have begun with."""
    tree = PartialTree(step.after, blocks, [operation.path.encode() for operation in step.operations])
    for operation in step.operations:
        assert tree.value(operation.path.encode()) == operation.cid
    verify.undo_operations(tree, step.operations)
    return tree.root()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
def test_random_batches_are_undone(part: int) -> None:
    """As another implementation applied them: with the whole tree at hand, or no more than their proof."""
    for seed in range(part, CASES // STEPS, PARTS):
        tree = RandomTree(seed)
        for number in range(STEPS):
            step = tree.step()
            is_minimal = number % 2 == 0
            shown = tree.proof(operation.path for operation in step.operations) if is_minimal else tree.blocks

            assert undone(step, shown) == step.before, f"tree {seed}, step {number}"


def test_a_batch_that_is_not_the_whole_truth_leads_elsewhere() -> None:
    """An operation left out, made up or with another version before it gives another tree, or none."""
    for seed in range(40):
        tree = RandomTree(seed)
        for _ in range(STEPS):
            step = tree.step()
            for false in falsified(tree, step):
                with contextlib.suppress(MstError):
                    assert undone(false, tree.blocks) != step.before


def falsified(tree: RandomTree, step: Step) -> list[Step]:
    operations = step.operations
    absent = next(path for path in PATHS if path not in tree.records)
    made_up = Operation("delete", absent, None, record_cid("never"))
    found = [replace(step, operations=(*(each for each in operations if each.path != absent), made_up))]
    for at, operation in enumerate(operations):
        rest = operations[:at] + operations[at + 1 :]
        found.append(replace(step, operations=rest))
        if operation.prev:
            found.append(replace(step, operations=(*rest, replace(operation, prev=record_cid("another")))))
    return found


def test_without_a_node_that_is_needed_nothing_is_proved() -> None:
    """Nodes of a proof, left out, either were not needed or are missed; never is another tree the answer."""
    missed = 0
    for seed in range(100):
        tree = RandomTree(seed)
        for _ in range(20):
            step = tree.step()
            shown = tree.proof(operation.path for operation in step.operations)
            for count in range(1, min(5, len(shown))):
                kept = dict(tree.chance.sample(sorted(shown.items()), len(shown) - count))
                try:
                    assert undone(step, kept) == step.before
                except MissingNode:
                    missed += 1

    assert missed > 500


def test_a_record_put_in_place_of_its_neighbour_is_undone_without_what_lies_beyond() -> None:
    """What was deleted comes back first: it belongs between subtrees that the created one holds apart."""
    deleted, created = [path for path in PATHS if mst.layer_of(path.encode()) == 4][:2]
    before_both = [path for path in PATHS if path < deleted and mst.layer_of(path.encode()) < 3]
    beyond = [path for path in PATHS if path > created and mst.layer_of(path.encode()) < 3]
    tree = RandomTree(0)
    tree.plant({path: record_cid(path) for path in [*before_both, deleted, *beyond]})
    before = tree.root
    prev = tree.uproot(deleted)
    tree.plant({created: prev})
    operations = (Operation("create", created, prev, None), Operation("delete", deleted, None, prev))

    assert undone(Step(before, tree.root, operations), tree.way([before_both[-1], created])) == before


def test_the_public_commit_proofs_are_undone() -> None:
    """With no more than the blocks that the vectors name."""
    for case in interop.cases("firehose/commit-proof-fixtures.json"):
        value = cid_of(case["leafValue"])
        tree = RandomTree(0)
        tree.plant(dict.fromkeys({*case["keys"], *case["adds"]} - {*case["dels"]}, value))
        operations = (
            *(Operation("create", path, value, None) for path in case["adds"]),
            *(Operation("delete", path, None, value) for path in case["dels"]),
        )
        step = Step(cid_of(case["rootBeforeCommit"]), tree.root, operations)
        shown = {cid: tree.blocks[cid] for cid in map(cid_of, case["blocksInProof"])}

        assert tree.root == cid_of(case["rootAfterCommit"]), case["comment"]
        assert undone(step, shown) == step.before, case["comment"]


def cid_of(text: str) -> bytes:
    return bytes(CID.decode(text))


def test_an_empty_commit_leaves_the_tree_as_it_is() -> None:
    """It need not even be shown."""
    tree = RandomTree(1)
    tree.step()

    assert PartialTree(tree.root, {}, ()).root() == tree.root


def test_the_first_commit_begins_with_the_empty_tree() -> None:
    tree = RandomTree(7)
    while not (step := tree.step()).operations:
        pass

    assert step.before == mst.EMPTY
    assert undone(step, tree.blocks) == mst.EMPTY
