"""Which hashes may be stored, in memory: new records, the common case, then cost no look-up in a table.

An index in DuckDB would answer too, but at a million likes it makes each checkpoint 13 times slower.
"""

from collections.abc import Collection
from typing import Final

import numpy
import numpy.typing as npt

MERGE_AT: Final = 1 << 17

Hashes = npt.NDArray[numpy.int64]


class Seen:
    """Remembers every hash that was added: 8 bytes each. Hashes of removed rows may linger, harmlessly."""

    def __init__(self, hashes: Hashes, merge_at: int = MERGE_AT) -> None:
        self._sorted = numpy.sort(hashes)
        self._merge_at = merge_at
        self._recent: set[int] = set()

    def add(self, hashes: Collection[int]) -> None:
        """Remember these."""
        self._recent.update(hashes)
        if len(self._recent) > self._merge_at:
            recent = numpy.fromiter(self._recent, dtype=numpy.int64)
            self._sorted = numpy.concatenate((self._sorted, recent))
            self._sorted.sort(kind="stable")  # mostly in order, which this kind makes use of
            self._recent.clear()

    def known(self, hashes: Collection[int]) -> list[int]:
        """Those that were added, in the order given."""
        if not hashes or not (len(self._sorted) or self._recent):
            return []
        values = numpy.fromiter(hashes, dtype=numpy.int64, count=len(hashes))
        places = numpy.searchsorted(self._sorted, values)
        places[places == len(self._sorted)] = 0
        found = self._sorted[places] == values if len(self._sorted) else numpy.zeros(len(values), dtype=bool)
        pairs = zip(hashes, found.tolist(), strict=True)
        return [value for value, is_sorted in pairs if is_sorted or value in self._recent]
