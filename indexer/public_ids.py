"""The public integers of tracks and comments: derived from the uri, told apart when two hashes meet.

Of two records with the same hash the one with the smaller record key (the older) keeps it and the other tries
the next; so the ids of a set of records do not depend on the order in which they came.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from indexer.catalogue import Catalogue, keys
from indexer.seen import Seen
from schemas.ids import AtUri, Rkey


class Claim(NamedTuple):
    """A record that asks for its `attempt`th id. Smaller (rkey, uri) goes first."""

    rkey: Rkey
    uri: str
    attempt: int
    key: int


class PublicIds:
    """Hands out the ids of one table."""

    def __init__(self, catalogue: Catalogue, table: str, derive: Callable[[str, int], int]) -> None:
        self._catalogue = catalogue
        self._table = table
        self._derive = derive
        self._seen = Seen(catalogue.hashes(table, "id"))

    def assign(self, newcomers: Mapping[int, AtUri]) -> dict[int, int]:
        """The id of each newcomer, by key, and of each stored record that must make room for one."""
        holders: dict[int, Claim] = {}
        looked_up: set[int] = set()
        assigned: dict[int, int] = {}
        claims = [Claim(uri.rkey, str(uri), 0, key) for key, uri in newcomers.items()]
        while claims:
            wanted = {claim: self._derive(claim.uri, claim.attempt) for claim in claims}
            holders |= self._stored(set(wanted.values()) - looked_up)
            looked_up.update(wanted.values())
            claims = []
            for claim, number in wanted.items():
                winner, loser = _settle(claim, holders.get(number))
                holders[number] = winner
                assigned[winner.key] = number
                if loser is not None:
                    claims.append(loser._replace(attempt=loser.attempt + 1))
        self._seen.add(assigned.values())
        return assigned

    def _stored(self, numbers: Iterable[int]) -> dict[int, Claim]:
        known = self._seen.known(list(numbers))
        if not known:
            return {}
        found = self._catalogue.rows(
            f"select id, rkey, uri, key from {self._table} where rowid in "
            f"(select rowid from {self._table} where id in ({keys(known)}))"
        )
        return {number: Claim(rkey, uri, self._attempt(uri, number), key) for number, rkey, uri, key in found}

    def _attempt(self, uri: str, number: int) -> int:
        attempt = 0
        while self._derive(uri, attempt) != number:
            attempt += 1
        return attempt


def _settle(claim: Claim, holder: Claim | None) -> tuple[Claim, Claim | None]:
    if holder is None:
        return claim, None
    return (claim, holder) if claim[:2] < holder[:2] else (holder, claim)
