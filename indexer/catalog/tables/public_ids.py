"""The public integer ids of tracks and comments: derived from the at-uri, contested where two collide.

A number that two records derive belongs to neither, for good, and each goes on to its next attempt. Authors
choose their rkeys: if one record won, an attacker could search for an rkey that takes over the number of
another account's track. The ids do not depend on the order of arrival, as records only add claims: numbers
become contested and never free again. A row at attempt k shows that the k numbers before are contested, and
rows stay, deleted ones as tombstones, so the contested numbers are read from the rows.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import structlog
from prometheus_client import Counter

from indexer.catalog.database import Database, join_keys
from indexer.catalog.hash_sets import HashSet
from schemas.ids import ID_BITS, AtUri

log = structlog.get_logger()

CONTESTED = Counter(
    "fmsvc_ids_contested_total",
    "Public ids that several records asked for, so that none has them.",
    ["table"],
)
_FIRST = f"(key >> {64 - ID_BITS}) & {(1 << ID_BITS) - 1}"  # attempt 0, which a key begins with


class Claim(NamedTuple):
    """A record that asks for its id at this attempt, the first being 0."""

    uri: str
    attempt: int
    key: int

    def next(self) -> "Claim":
        return self._replace(attempt=self.attempt + 1)


class PublicIds:
    """Hands out the ids of one table."""

    def __init__(self, catalogue: Database, table: str, derive: Callable[[str, int], int]) -> None:
        self._catalogue = catalogue
        self._table = table
        self._derive = derive
        self.load()

    def load(self) -> None:
        """Read from the rows which numbers are taken and which are contested."""
        self._seen = HashSet(self._catalogue.hashes(self._table, "id"))
        moved = f"select key, uri, id from {self._table} where id <> {_FIRST}"
        self._contested = {
            self._derive(uri, attempt)
            for _, uri, number in self._catalogue.rows(moved)
            for attempt in range(self._attempt(uri, number))
        }
        # Version 2 of the catalogue let one of two records keep a number: it moves with the next newcomer.
        self._displaced = [holder.next() for holder in self._stored(self._contested).values()]

    def assign(self, newcomers: Mapping[int, AtUri]) -> dict[int, int]:
        """The id of each newcomer, by key, and of each stored record whose number it contests."""
        holders: dict[int, Claim] = {}
        looked_up: set[int] = set()
        assigned: dict[int, int] = {}
        claims = [Claim(str(uri), 0, key) for key, uri in newcomers.items()] + self._displaced
        self._displaced = []
        while claims:
            wanted: dict[int, list[Claim]] = {}
            for claim in claims:
                wanted.setdefault(self._derive(claim.uri, claim.attempt), []).append(claim)
            free = wanted.keys() - self._contested - looked_up
            holders |= self._stored(free)
            looked_up |= free
            claims = []
            for number, claimants in wanted.items():
                if number in holders:
                    claimants.append(holders.pop(number))
                if len(claimants) == 1 and number not in self._contested:
                    holders[number] = claimants[0]
                    assigned[claimants[0].key] = number
                    continue
                self._contest(number, claimants)
                claims += [claim.next() for claim in claimants]
        self._seen.add(assigned.values())
        return assigned

    def _contest(self, number: int, claimants: list[Claim]) -> None:
        if number not in self._contested:
            CONTESTED.labels(self._table).inc()
        self._contested.add(number)
        uris = [claim.uri[:200] for claim in claimants[:3]]
        log.warning("public id contested", table=self._table, id=number, uris=uris)

    def _stored(self, numbers: Iterable[int]) -> dict[int, Claim]:
        known = self._seen.known(list(numbers))
        if not known:
            return {}
        found = self._catalogue.rows(
            f"select id, uri, key from {self._table} where rowid in "
            f"(select rowid from {self._table} where id in ({join_keys(known)}))"
        )
        return {number: Claim(uri, self._attempt(uri, number), key) for number, uri, key in found}

    def _attempt(self, uri: str, number: int) -> int:
        attempt = 0
        while self._derive(uri, attempt) != number:
            attempt += 1
        return attempt
