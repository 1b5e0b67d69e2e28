"""The table of accounts: hosting status, which hides or removes their records, and identity."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow

from indexer.catalog import projections
from indexer.catalog.database import LISTED, Database, join_words
from indexer.events import Account, IdentityFact
from indexer.repo.changes import RecordChange
from schemas.datetimes import to_utc
from schemas.ids import INVALID_HANDLE, Did, tid_at


class Accounts:
    """The table `accounts`; the sets that every event looks up are kept in memory too.

    `away`: accounts that the relay says are not active. `hidden`: these, accounts that their PDS refuses, and
    those that are taken down or that labels withhold, which `withheld` have at every moment.
    """

    def __init__(self, catalogue: Database, *withheld: Collection[Did]) -> None:
        self._catalogue = catalogue
        self._withheld = withheld
        self.known: set[Did] = set()
        self.hidden: set[Did] = set()
        self.away: frozenset[Did] = frozenset()
        self._removed: dict[Did, str] = {}
        self.load()

    def load(self) -> None:
        """Load the sets from the table: at the start, and after a transaction was rolled back."""
        rows = self._catalogue.rows
        self.known.clear()
        self.known.update(did for (did,) in rows("select did from accounts"))
        self.hidden = {did for (did,) in rows("select did from hidden_accounts")}
        self.away = frozenset(did for (did,) in rows("select did from away_accounts"))
        self._removed = dict(rows("select did, removed_rev from accounts where removed_rev is not null"))
        self._deleted = {did for (did,) in rows("select did from accounts where status = 'deleted'")}
        self._refused = {did for (did,) in rows("select did from accounts where refusal is not null")}

    def survives(self, change: RecordChange) -> bool:
        """False for a change from before the account's removal: a late commit brings no record back.

        A fetched repo always survives, and a verified change if the account is no longer deleted.
        """
        if change.rev > self._removed.get(change.did, "") or change.verified == "repo":
            return True
        return change.did not in self._deleted and change.verified != "unverified"

    def meet(self, dids: Iterable[Did]) -> list[Did]:
        """Create rows for the accounts that are new. Returns these."""
        new = [did for did in dict.fromkeys(dids) if did not in self.known]
        self._catalogue.insert("accounts", [{"did": did, "status": "active", "stale": True} for did in new])
        self.known.update(new)
        self.hidden.update(did for did in new if any(did in dids for dids in self._withheld))
        return new

    def obey(
        self,
        events: Iterable[Account],
        refusals: Mapping[Did, str | None],
        decided: Collection[Did] = (),
    ) -> tuple[set[Did], dict[Did, str]]:
        """Store newer statuses of known accounts, and their PDSes' refusals; None: it serves the repo.

        `decided`: accounts of which a takedown or a label was just changed.
        A PDS knows better than a relay whether an account is deleted: it restores it or confirms that.
        Returns the accounts that were hidden or shown, and the revs up to which records are to be removed.
        """
        mine = [event for event in events if event.did in self.known]
        changed = {event.did for event in mine}
        answers = {
            did: refusal
            for did, refusal in refusals.items()
            if did in self.known
            and (refusal or did in self._refused or did in self._deleted or did in changed)
        }
        rows = self._rows(changed | answers.keys() | {did for did in decided if did in self.known})
        for event in mine:
            row, dated = rows[event.did], (to_utc(event.time), event.status)
            # Equal times are ordered by the status, so that the order of arrival does not matter.
            if row["status_time"] is None or dated > (row["status_time"], row["status"]):
                row["status_time"], row["status"] = dated
        removals: dict[Did, str] = {}
        for did, refusal in answers.items():
            row = rows[did]
            row["refusal"] = refusal
            if row["status"] == "deleted" and refusal is None:
                row["status"] = "active"
            elif row["status"] == refusal == "deleted":
                row["removed_rev"] = removals[did] = tid_at(row["status_time"].replace(tzinfo=UTC))
        self._replace(rows)
        self._removed |= removals
        self._deleted = _renewed(self._deleted, rows, lambda row: row["status"] == "deleted")
        self._refused = _renewed(self._refused, rows, lambda row: row["refusal"] is not None)
        self.away = self.away - rows.keys() | self._among("away_accounts", rows.keys())
        hidden = self._among("hidden_accounts", rows.keys())
        flipped = {did for did in rows if (did in hidden) != (did in self.hidden)}
        self.hidden = self.hidden - rows.keys() | hidden
        return flipped, removals

    def learn(self, facts: Iterable[IdentityFact], now: datetime) -> tuple[list[Did], list[Did]]:
        """Store handles, PDSes and keys. Returns accounts with a changed one, and those that moved."""
        latest = {fact.did: fact for fact in facts if fact.did in self.known}
        rows = self._rows(latest.keys())
        changed, moved = [], []
        for did, fact in latest.items():
            row = rows[did]
            handle = fact.handle or row["handle"]
            if (row["handle"], row["pds"]) != (handle, fact.pds):
                changed.append(did)
            if row["pds"] is not None and row["pds"] != fact.pds:
                moved.append(did)
            row |= {
                "handle": handle,
                "pds": fact.pds,
                "signing_key": fact.signing_key,
                "resolved_at": to_utc(now),
                "stale": fact.handle is None,
            }
        self._replace(rows)
        return changed, moved

    def doubt(self, dids: Iterable[Did]) -> list[Did]:
        """Mark identities to be resolved again. Returns the accounts that are known."""
        mine = [did for did in sorted(dids) if did in self.known]
        if mine:
            self._catalogue.con.execute(
                f"update accounts set stale = true where did in {LISTED}", [join_words(mine)]
            )
        return mine

    def statuses(self, dids: Collection[Did]) -> dict[Did, str]:
        """Why each of these accounts is hidden, as a status; the operator's takedowns are `takendown`."""
        return {
            did: row["status"] if did in self.away else row["refusal"] or "takendown"
            for did, row in self._rows(dids).items()
        }

    def handles(self, dids: Iterable[Did]) -> list[tuple[Did, str]]:
        """The handles of those of these accounts that have a verified one."""
        rows = self._rows(list(dids))
        return [
            (did, row["handle"]) for did, row in rows.items() if row["handle"] not in (None, INVALID_HANDLE)
        ]

    def remove(self, removals: Mapping[Did, str]) -> list[int]:
        """Remove all records up to these revs, of every type. Returns the pairs of live likes."""
        pairs: list[int] = []
        if not removals:
            return pairs
        con = self._catalogue.con
        con.register("asked", pyarrow.table({"did": list(removals), "rev": list(removals.values())}))
        for projection in projections.ALL:
            con.execute(
                f"""
                create or replace temp table gone as
                select records.rowid as place, records.key
                from {projection.table} as records
                join asked on records.did = asked.did and records.rev <= asked.rev
                """
            )
            if projection.counted == "likes":
                live = "select pair from likes where state = 'live' and rowid in (select place from gone)"
                pairs = [pair for (pair,) in self._catalogue.rows(live)]
            for table in projection.child_tables:
                con.execute(f"delete from {table} where {projection.child_key} in (select key from gone)")
            con.execute("delete from invalid_records where key in (select key from gone)")
            con.execute(f"delete from {projection.table} where rowid in (select place from gone)")
        con.unregister("asked")
        return pairs

    def _among(self, view: str, dids: Collection[Did]) -> set[Did]:
        if not dids:
            return set()
        query = f"select did from {view} where did in {LISTED}"
        return {did for (did,) in self._catalogue.rows(query, [join_words(dids)])}

    def _rows(self, dids: Collection[Did]) -> dict[Did, dict[str, Any]]:
        if not dids:
            return {}
        names = self._catalogue.columns("accounts")
        found = self._catalogue.rows(f"select * from accounts where did in {LISTED}", [join_words(dids)])
        return {row["did"]: row for row in (dict(zip(names, values, strict=True)) for values in found)}

    def _replace(self, rows: Mapping[Did, Mapping[str, Any]]) -> None:
        if rows:
            self._catalogue.con.execute(f"delete from accounts where did in {LISTED}", [join_words(rows)])
            self._catalogue.insert("accounts", list(rows.values()))


def _renewed(
    dids: set[Did], rows: Mapping[Did, Mapping[str, Any]], belongs: Callable[[Mapping[str, Any]], bool]
) -> set[Did]:
    """The set, with the accounts of these rows added or removed by `belongs`."""
    return (dids - rows.keys()) | {did for did, row in rows.items() if belongs(row)}
