"""Sets and counters of 64-bit hashes in memory, so that new records, the common case, need no table look-up.

An index in DuckDB would answer too, but at a million likes it makes each checkpoint 13 times slower.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy
import numpy.typing as npt

MERGE_AT: Final = 1 << 17

Hashes = npt.NDArray[numpy.int64]


class HashSet:
    """A set of hashes, 8 bytes each, without removal: the hashes of removed rows stay, which is harmless."""

    def __init__(self, hashes: Hashes, merge_at: int = MERGE_AT) -> None:
        self._sorted = numpy.sort(hashes)
        self._merge_at = merge_at
        self._recent: set[int] = set()

    def add(self, hashes: Collection[int]) -> None:
        """Add these hashes."""
        self._recent.update(hashes)
        if len(self._recent) > self._merge_at:
            recent = numpy.fromiter(self._recent, dtype=numpy.int64)
            self._sorted = numpy.concatenate((self._sorted, recent))
            self._sorted.sort(kind="stable")  # mostly in order, which this kind makes use of
            self._recent.clear()

    def are_recent(self, hashes: Iterable[int]) -> bool:
        """True when all of these were added since `has_recent` was last false, or since the set was made."""
        return self._recent.issuperset(hashes)

    @property
    def has_recent(self) -> bool:
        """False when the set is new, and whenever it has sorted in what was added."""
        return bool(self._recent)

    def known(self, hashes: Collection[int]) -> list[int]:
        """Those of these hashes that are in the set, in the order given."""
        if not hashes or not (len(self._sorted) or self._recent):
            return []
        values = numpy.fromiter(hashes, dtype=numpy.int64, count=len(hashes))
        places = numpy.searchsorted(self._sorted, values)
        places[places == len(self._sorted)] = 0
        found = self._sorted[places] == values if len(self._sorted) else numpy.zeros(len(values), dtype=bool)
        pairs = zip(hashes, found.tolist(), strict=True)
        return [value for value, is_sorted in pairs if is_sorted or value in self._recent]


class HashCounter:
    """A multiset of hashes, 8 bytes for each occurrence."""

    def __init__(self, hashes: Hashes, merge_at: int = MERGE_AT) -> None:
        self._sorted = numpy.sort(hashes)
        self._merge_at = merge_at
        self._moved: dict[int, int] = {}

    def counts(self, hashes: Collection[int]) -> dict[int, int]:
        """The number of occurrences of each of these hashes."""
        values = numpy.fromiter(hashes, dtype=numpy.int64, count=len(hashes))
        first = numpy.searchsorted(self._sorted, values)
        past = numpy.searchsorted(self._sorted, values, side="right")
        found = zip(hashes, (past - first).tolist(), strict=True)
        return {value: count + self._moved.get(value, 0) for value, count in found}

    def move(self, steps: Mapping[int, int]) -> None:
        """Add (or with negative steps remove) so many occurrences of each hash."""
        for value, step in steps.items():
            self._moved[value] = self._moved.get(value, 0) + step
        if len(self._moved) > self._merge_at:
            self._merge()

    def _merge(self) -> None:
        gone = numpy.array([v for v, step in self._moved.items() for _ in range(-step)], dtype=numpy.int64)
        come = numpy.array([v for v, step in self._moved.items() for _ in range(step)], dtype=numpy.int64)
        gone.sort(kind="stable")
        # Equal hashes are adjacent: the nth one to remove is n places after the first of its value.
        places = numpy.searchsorted(self._sorted, gone)
        places += numpy.arange(len(gone)) - numpy.searchsorted(gone, gone)
        self._sorted = numpy.concatenate((numpy.delete(self._sorted, places), come))
        self._sorted.sort(kind="stable")
        self._moved.clear()
