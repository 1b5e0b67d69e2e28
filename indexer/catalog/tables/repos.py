"""The stored head of each repo: its state, rev and tree, committed together with its records."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from indexer.catalog.database import LISTED, Database, join_words
from indexer.repo.changes import RepoHead
from schemas.ids import Did

ROWS_AT_ONCE: Final = 2000


class StoredRepo(NamedTuple):
    """An account's repo, its signing key, and the server that it is on."""

    did: Did
    mark: RepoHead
    key: str | None
    pds: str | None


class RepoTable:
    """The table `repos`. An account without a row has a pending repo."""

    def __init__(self, catalogue: Database) -> None:
        self._catalogue = catalogue

    def all(self, known: Iterable[Did]) -> Iterator[StoredRepo]:
        """The repo of every account, with the DIDs of those `known`. Read them all before the next statement.

        Some at a time, and with one copy of what is held twice or shared by many: each account took
        twice as much memory.
        """
        held = {did: did for did in known}
        found = self._catalogue.con.execute(
            """
            select
                accounts.did,
                case
                    when state = 'active' and accounts.did in (select did from waiting_commits)
                    then 'desynchronized'
                    else coalesce(state, 'pending')
                end,
                rev, data, coalesce(must_fetch, true), reason, signing_key, pds
            from accounts
            left join repos on repos.did = accounts.did
            """
        )
        while rows := found.fetchmany(ROWS_AT_ONCE):
            for did, state, rev, data, fetch, reason, key, pds in rows:
                mark = RepoHead(_shared(state), rev, data, fetch, _shared(reason))
                yield StoredRepo(held.get(did, did), mark, key, _shared(pds))

    def doubt(self, dids: Collection[Did]) -> None:
        """Mark these repos to be fetched."""
        if dids:
            self._catalogue.con.execute(
                f"""
                update repos
                set must_fetch = true, state = if(state = 'active', 'desynchronized', state)
                where did in {LISTED}
                """,
                [join_words(dids)],
            )

    def store(self, marks: Mapping[Did, RepoHead]) -> None:
        """Replace the heads of these repos."""
        if not marks:
            return
        self._catalogue.con.execute(f"delete from repos where did in {LISTED}", [join_words(marks)])
        self._catalogue.insert(
            "repos",
            [
                {
                    "did": did,
                    "state": "pending" if mark.state == "resyncing" else mark.state,
                    "rev": mark.rev,
                    "data": mark.data,
                    "must_fetch": mark.fetch,
                    "reason": mark.reason,
                }
                for did, mark in marks.items()
            ],
        )


def _shared(word: str | None) -> Any:
    """The one copy of a word that many rows have."""
    return None if word is None else sys.intern(word)
