"""How often each hash is there, in memory: whether a person likes a track already costs no look-up."""

from collections.abc import Collection, Mapping

import numpy

from indexer.seen import MERGE_AT, Hashes


class Tally:
    """A multiset of hashes: 8 bytes for each time that one is there."""

    def __init__(self, hashes: Hashes, merge_at: int = MERGE_AT) -> None:
        self._sorted = numpy.sort(hashes)
        self._merge_at = merge_at
        self._moved: dict[int, int] = {}

    def counts(self, hashes: Collection[int]) -> dict[int, int]:
        """How often each of these is there."""
        values = numpy.fromiter(hashes, dtype=numpy.int64, count=len(hashes))
        first = numpy.searchsorted(self._sorted, values)
        past = numpy.searchsorted(self._sorted, values, side="right")
        found = zip(hashes, (past - first).tolist(), strict=True)
        return {value: count + self._moved.get(value, 0) for value, count in found}

    def move(self, steps: Mapping[int, int]) -> None:
        """Add or take away so many of each."""
        for value, step in steps.items():
            self._moved[value] = self._moved.get(value, 0) + step
        if len(self._moved) > self._merge_at:
            self._merge()

    def _merge(self) -> None:
        gone = numpy.array([v for v, step in self._moved.items() for _ in range(-step)], dtype=numpy.int64)
        come = numpy.array([v for v, step in self._moved.items() for _ in range(step)], dtype=numpy.int64)
        gone.sort(kind="stable")
        # Equal hashes lie side by side: the nth to go is n places after the first of its kind.
        places = numpy.searchsorted(self._sorted, gone)
        places += numpy.arange(len(gone)) - numpy.searchsorted(gone, gone)
        self._sorted = numpy.concatenate((numpy.delete(self._sorted, places), come))
        self._sorted.sort(kind="stable")
        self._moved.clear()
