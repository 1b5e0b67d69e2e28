"""The lease as a state machine: one holder at a time, whatever sleeps, and an epoch that only grows."""

import random

import pytest

from indexer.replication.publish.term import LeaseRecord, Term

SECONDS = 6.0


class Store:
    """`lease.json`, replaced on a condition."""

    def __init__(self) -> None:
        self.record: LeaseRecord | None = None
        self.tag: str | None = None
        self.epochs: list[int] = []
        self._writes = 0

    def replace(self, record: LeaseRecord, tag: str | None) -> str | None:
        """The new version's tag; None when another version is there."""
        if tag != self.tag:
            return None
        self._writes += 1
        self.record, self.tag = record, f"v{self._writes}"
        self.epochs.append(record.epoch)
        return self.tag


def step(
    term: Term,
    store: Store,
    now: float,
    *,
    is_whole: bool = True,
    is_fresh: bool = True,
    began: float | None = None,
) -> None:
    """One step of a node. `began`: when it began a write that is done now, after a sleep."""
    if term.next_step(now, is_whole=is_whole, is_fresh=is_fresh) == "read":
        term.read(store.record, store.tag, now)
    if (do := term.next_step(now, is_whole=is_whole, is_fresh=is_fresh)) in {"write", "release"}:
        record, tag = term.next_record().model_copy(update={"released": do == "release"}), term.tag
        term.doubt()
        written = store.replace(record, tag)
        if written is not None:
            term.written(record, written, now if began is None else began)


@pytest.fixture
def store() -> Store:
    return Store()


def test_the_first_node_takes_the_lease_and_renews_it(store: Store) -> None:
    """In one epoch, for as long as it renews in time."""
    term = Term("a", SECONDS)

    for second in range(20):
        step(term, store, float(second))
        assert term.epoch(float(second)) == 1

    assert set(store.epochs) == {1}
    assert len(store.epochs) > 5


def test_another_node_waits_for_the_duration_of_the_lease_by_its_own_clock(store: Store) -> None:
    """It counts from when it saw the holder's last sign, however its clock is set."""
    holder, standby, ahead = Term("a", SECONDS), Term("b", SECONDS), 5_000.0
    step(holder, store, 0.0)

    step(standby, store, ahead)
    step(standby, store, ahead + SECONDS - 0.1)
    assert standby.epoch(ahead + SECONDS - 0.1) is None
    step(standby, store, ahead + SECONDS)

    assert standby.epoch(ahead + SECONDS) == 2
    assert holder.epoch(SECONDS) is None


def test_a_holder_that_slept_holds_nothing_when_it_wakes(store: Store) -> None:
    """Not even before it has read that there is another one; its write does not succeed."""
    holder, standby = Term("a", SECONDS), Term("b", SECONDS)
    step(holder, store, 0.0)
    step(standby, store, 0.5)
    step(standby, store, 10.0)

    assert standby.epoch(10.0) == 2
    assert holder.epoch(60.0) is None
    step(holder, store, 60.0)
    assert holder.epoch(60.0) is None
    assert store.record is not None
    assert store.record.node == "b"


def test_a_write_that_ends_after_a_sleep_counts_from_its_beginning(store: Store) -> None:
    """The answer came in time for nobody: others may have counted to the end."""
    holder = Term("a", SECONDS)

    step(holder, store, 100.0, began=0.0)

    assert holder.epoch(100.0) is None


def test_a_holder_that_slept_and_was_not_missed_goes_on_in_its_epoch(store: Store) -> None:
    """Nobody replaced the version that it wrote."""
    holder = Term("a", SECONDS)
    step(holder, store, 0.0)

    step(holder, store, 60.0)

    assert holder.epoch(60.0) == 1


def test_a_released_lease_is_taken_at_once(store: Store) -> None:
    """By a node that is fresh."""
    holder, standby = Term("a", SECONDS), Term("b", SECONDS)
    step(holder, store, 0.0)
    record = holder.next_record().model_copy(update={"released": True})
    tag = store.replace(record, holder.tag)
    assert tag is not None
    holder.written(record, tag, 1.0)

    step(standby, store, 1.1)

    assert holder.epoch(1.1) is None
    assert standby.epoch(1.1) == 2


@pytest.mark.parametrize("second", [1.0, 60.0])
def test_a_holder_that_is_not_whole_releases_the_lease(store: Store, second: float) -> None:
    """Once, also when it has ceased to hold it; it takes it again when it is whole."""
    holder = Term("a", SECONDS)
    step(holder, store, 0.0)

    step(holder, store, second, is_whole=False)
    step(holder, store, second, is_whole=False)

    assert holder.epoch(second) is None
    assert store.record is not None
    assert (store.record.released, store.record.renewal) == (True, 1)
    step(holder, store, second)
    assert holder.epoch(second) == 2


def test_a_node_that_starts_again_takes_its_own_lease_at_once(store: Store) -> None:
    """In the next epoch: what its earlier process still sends is not shown."""
    step(Term("a", SECONDS), store, 0.0)
    again = Term("a", SECONDS)

    step(again, store, 0.5, is_fresh=False)

    assert again.epoch(0.5) == 2


def test_an_index_that_is_behind_replaces_no_other(store: Store) -> None:
    """It is shown only where there is none."""
    step(Term("a", SECONDS), store, 0.0)
    behind = Term("b", SECONDS)

    for second in range(60):
        step(behind, store, float(second), is_fresh=False)

    assert behind.epoch(59.0) is None


def test_the_newest_epoch_is_known_also_after_a_doubt(store: Store) -> None:
    """Else what a standby publishes before it reads again would be taken for the oldest state."""
    holder, standby = Term("a", SECONDS), Term("b", SECONDS)
    step(holder, store, 0.0)
    step(standby, store, 0.0)

    standby.doubt()

    assert standby.known_epoch == 1


@pytest.mark.parametrize("seed", range(50))
def test_there_is_one_holder_at_a_time_in_any_order_of_steps_and_sleeps(store: Store, seed: int) -> None:
    """And epochs never go back."""
    dice = random.Random(seed)
    terms = {name: Term(name, SECONDS) for name in "abc"}
    asleep_until = dict.fromkeys(terms, 0.0)
    now = 0.0
    for _ in range(400):
        now += dice.random()
        name = dice.choice(sorted(terms))
        if asleep_until[name] > now:
            continue
        if dice.random() < 0.1:
            asleep_until[name] = now + dice.random() * 3 * SECONDS
        began = max(now - dice.random() * SECONDS, 0) if dice.random() < 0.2 else None
        step(terms[name], store, now, is_whole=dice.random() > 0.1, began=began)
        assert sum(term.epoch(now) is not None for term in terms.values()) <= 1

    assert store.epochs == sorted(store.epochs)
    assert len(set(store.epochs)) > 1
