"""Which accounts' events concern us: those that wrote a record of ours, written to disk already or not."""

from collections.abc import Container

from indexer.batch import Batch
from schemas.ids import Did


class Tracked:
    """Accounts that are known, or will be once the batches under way are written."""

    def __init__(self, known: Container[Did]) -> None:
        self._known = known
        self._coming: set[Did] = set()

    def __contains__(self, did: object) -> bool:
        return did in self._coming or did in self._known

    def meet(self, did: Did) -> None:
        """A record of this account is on its way."""
        if did not in self._known:
            self._coming.add(did)

    def settle(self, batch: Batch) -> None:
        """The batch is written."""
        if self._coming:
            self._coming.difference_update(change.did for change in batch.changes)
