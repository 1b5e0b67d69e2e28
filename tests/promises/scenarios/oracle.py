"""Compares a catalogue, record by record, with what is true."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from schemas import data_folder
from tests.promises.scenarios.truth import Hosted

TABLES = ("tracks", "likes", "comments", "lists", "profiles")
POLL_SECONDS = 0.05
SHOWN = 8


class Disagreement(AssertionError):
    """What is stored or shown is not what is true."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record of the catalogue."""

    cid: str
    visible: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The newest snapshot: records that are not deleted, by owner and uri; accounts; repos out of step."""

    records: dict[str, dict[str, Row]]
    accounts: dict[str, tuple[str, str | None]]
    out_of_step: dict[str, str]
    waiting: dict[str, int]
    removed_tracks: frozenset[str]


def read(snapshot: Path) -> Catalogue:
    """What a published snapshot holds."""
    with duckdb.connect(str(snapshot), read_only=True) as con:
        records: defaultdict[str, dict[str, Row]] = defaultdict(dict)
        for table in TABLES:
            found = con.execute(
                f"select did, uri, cid, state = 'live' and did not in (select did from hidden_accounts)"
                f" from {table} where state <> 'deleted'"
            )
            for did, uri, cid, visible in found.fetchall():
                records[did][uri] = Row(cid, visible)
        states = _all(con, "did, state, reason from repos where state <> 'active'")
        return Catalogue(
            records,
            {did: (status, handle) for did, status, handle in _all(con, "did, status, handle from accounts")},
            {did: f"{state}: {reason}" for did, state, reason in states},
            dict(_all(con, "did, count(*) from waiting_commits group by did")),
            frozenset(uri for (uri,) in _all(con, "uri from tracks where state = 'deleted'")),
        )


def account_rows(data_dir: Path, did: str) -> list[Any]:
    """The newest snapshot's rows of one repo and account."""
    with duckdb.connect(str((data_dir / data_folder.NEWEST_SNAPSHOT).resolve()), read_only=True) as con:
        return [
            con.execute(f"select * from {table} where did = ?", [did]).fetchall()
            for table in ("repos", "accounts", "waiting_commits", "hidden_accounts")
        ]


def differences(truth: Mapping[str, Hosted], catalogue: Catalogue) -> Iterator[str]:
    """One sentence each."""
    for did, account in truth.items():
        rows = catalogue.records.get(did, {})
        if account.status != "active":
            yield from (f"{uri} is visible, but {account.status}" for uri, row in rows.items() if row.visible)
            continue
        yield from _of_records(account, rows)
        if account.records:
            yield from _of_account(account, catalogue)
    for did in catalogue.records.keys() - truth.keys():
        for uri, row in catalogue.records[did].items():
            if row.visible:
                yield f"{uri} is visible, but nobody hosts its account"


def _of_records(account: Hosted, rows: Mapping[str, Row]) -> Iterator[str]:
    for uri in account.records.keys() - rows.keys():
        yield f"{uri} is missing"
    for uri in rows.keys() - account.records.keys():
        yield f"{uri} should not be there"
    for uri in rows.keys() & account.records.keys():
        listed, row = account.records[uri], rows[uri]
        if row.cid != listed.cid:
            yield f"{uri} is {row.cid} and should be {listed.cid}"
        if row.visible != listed.valid:
            yield f"{uri} is {'visible' if row.visible else 'hidden'}, and should not be"


def _of_account(account: Hosted, catalogue: Catalogue) -> Iterator[str]:
    stored = catalogue.accounts.get(account.did)
    if stored != ("active", account.handle):
        yield f"{account.did} is {stored} and should be active as {account.handle}"
    if account.did in catalogue.out_of_step:
        yield f"{account.did} is {catalogue.out_of_step[account.did]}"
    if account.did in catalogue.waiting:
        yield f"{catalogue.waiting[account.did]} commits of {account.did} wait"


async def agree(data_dir: Path, truth: Mapping[str, Hosted], patience_seconds: float) -> Catalogue:
    """Wait until the catalogue is what is true. Raises Disagreement."""
    until = time.monotonic() + patience_seconds
    seen, found = None, ["nothing is published"]
    while time.monotonic() < until:
        newest = data_dir / data_folder.NEWEST_SNAPSHOT
        if newest.exists() and (snapshot := newest.resolve()) != seen:
            seen = snapshot
            catalogue = await asyncio.to_thread(read, snapshot)
            found = list(differences(truth, catalogue))
            if not found:
                return catalogue
        await asyncio.sleep(POLL_SECONDS)
    raise Disagreement(told(found))


def told(found: list[str]) -> str:
    more = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join(["", *sorted(found)[:SHOWN], *more])


def _all(con: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
    return con.execute(f"select {query}").fetchall()
