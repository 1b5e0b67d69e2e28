"""The two memories of hashes agree with plain Python ones."""

from collections import Counter

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.catalog.hash_sets import HashCounter, Hashes, HashSet

HASHES = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)


def array(values: list[int]) -> Hashes:
    """Hashes as a table gives them."""
    return numpy.array(values, dtype=numpy.int64)


@settings(max_examples=60)
@given(st.lists(HASHES), st.lists(st.lists(HASHES, max_size=6), max_size=6), st.lists(HASHES, unique=True))
def test_what_was_added_is_known_and_nothing_else(
    stored: list[int], added: list[list[int]], asked: list[int]
) -> None:
    """Exactly, in the order asked."""
    memory = HashSet(array(stored), merge_at=3)
    for hashes in added:
        memory.add(hashes)

    everything = {*stored, *(value for hashes in added for value in hashes)}
    assert memory.known(asked) == [value for value in asked if value in everything]


@settings(max_examples=60)
@given(st.lists(HASHES), st.lists(st.lists(HASHES, max_size=6), max_size=6), st.data())
def test_a_tally_counts_as_a_counter_does(
    stored: list[int], added: list[list[int]], data: st.DataObject
) -> None:
    """Adding, and taking away what is there."""
    memory, plain = HashCounter(array(stored), merge_at=3), Counter(stored)
    for hashes in added:
        steps = Counter(hashes)
        present = sorted(plain.elements())
        if present:
            steps.subtract(set(data.draw(st.lists(st.sampled_from(present), max_size=4))))
        memory.move(steps)
        plain.update(steps)

    asked = set(plain) | {7}
    assert memory.counts(asked) == {value: plain[value] for value in asked}
