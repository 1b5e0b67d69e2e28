"""The table of takedowns: a copy of those that stand in the state database, for the views and a restart."""

from collections.abc import Callable, Set
from typing import NamedTuple

from indexer.catalog.database import Database
from schemas.ids import AtUri, Did


class Decided(NamedTuple):
    """What a change of the takedowns is about: what was taken down or restored."""

    accounts: Set[Did] = frozenset()
    records: Set[AtUri] = frozenset()


class TakedownTable:
    """The table `takedowns`, in memory too. `accounts` and `keys` are the same sets for its life."""

    def __init__(self, catalogue: Database, key_of: Callable[[str], int]) -> None:
        self._catalogue = catalogue
        self._key_of = key_of
        self._subjects: frozenset[str] = frozenset()
        self.accounts: set[Did] = set()
        self.keys: set[int] = set()
        self.load()

    def load(self) -> None:
        """Load the sets from the table: at the start, and after a transaction was rolled back."""
        self._remember(
            frozenset(subject for (subject,) in self._catalogue.rows("select subject from takedowns"))
        )

    def replace(self, subjects: frozenset[str] | None) -> Decided:
        """Store all subjects that are taken down from now on; None: as before."""
        before = self._subjects
        if subjects is None or subjects == before:
            return Decided()
        self._catalogue.con.execute("delete from takedowns")
        self._catalogue.insert("takedowns", [{"subject": subject} for subject in sorted(subjects)])
        self._remember(subjects)
        return Decided(
            accounts={Did(subject) for subject in subjects ^ before if subject.startswith("did:")},
            records=_records(subjects ^ before),
        )

    def _remember(self, subjects: frozenset[str]) -> None:
        self._subjects = subjects
        self.accounts.clear()
        self.accounts.update(Did(subject) for subject in subjects if subject.startswith("did:"))
        self.keys.clear()
        self.keys.update(self._key_of(str(uri)) for uri in _records(subjects))


def _records(subjects: Set[str]) -> set[AtUri]:
    """The public records among these subjects; those in Spaces are in no index."""
    found = set()
    for subject in subjects:
        try:
            found.add(AtUri.parse(subject))
        except ValueError:
            continue
    return found
