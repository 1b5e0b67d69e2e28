"""Commits that wait in the catalogue until their repo is in step again."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Final

from indexer.batch import WaitingCommit
from indexer.catalogue import LISTED, Catalogue, listed
from indexer.projections.projection import utc
from schemas.ids import Did

LIMIT_BYTES: Final = 512 << 20


class Waiting:
    """The table. Beyond the limit all that waits for the largest is dropped, to be fetched instead."""

    def __init__(self, catalogue: Catalogue, limit_bytes: int = LIMIT_BYTES) -> None:
        self._catalogue = catalogue
        self._limit_bytes = limit_bytes
        self.count = 0
        self._bytes = 0
        self.load()

    def load(self) -> None:
        """Read the totals from the table."""
        self.count, self._bytes = self._catalogue.rows(
            "select count(*), coalesce(sum(octet_length(raw)), 0)::bigint from waiting_commits"
        )[0]

    def add(self, commits: Sequence[WaitingCommit]) -> list[Did]:
        """Keep these. Returns the repos of which some had to be dropped for them."""
        rows = [asdict(commit) | {"received_at": utc(commit.received_at)} for commit in commits]
        self._catalogue.insert("waiting_commits", rows)
        self.count += len(rows)
        self._bytes += sum(len(commit.raw) for commit in commits)
        return self._drop_largest() if self._bytes > self._limit_bytes else []

    def take(self, dids: Collection[Did]) -> dict[Did, list[WaitingCommit]]:
        """Take out all that waits for these repos. A commit that came twice is there once."""
        if not dids or not self.count:
            return {}
        found: dict[Did, dict[tuple[str, bytes], WaitingCommit]] = {}
        for did, rev, received_at, source, seq, raw in self._catalogue.rows(
            "select did, rev, received_at, source, seq, raw from waiting_commits "
            f"where did in {LISTED} order by received_at",
            [listed(dids)],
        ):
            commit = WaitingCommit(did, rev, received_at.replace(tzinfo=UTC), source, seq, raw)
            found.setdefault(did, {}).setdefault((rev, raw), commit)
        if found:
            query = f"delete from waiting_commits where did in {LISTED}"
            self._catalogue.con.execute(query, [listed(found)])
            self.load()
        return {did: list(commits.values()) for did, commits in found.items()}

    def _drop_largest(self) -> list[Did]:
        """Drop all that waits for the repos with most of it: they cost the others nothing that way."""
        held = self._catalogue.rows(
            """
            select did, sum(octet_length(raw))::bigint as bytes
            from waiting_commits
            group by did
            order by bytes desc
            """
        )
        dropped: list[Did] = []
        for did, size in held:
            if self._bytes <= self._limit_bytes:
                break
            dropped.append(did)
            self._bytes -= size
        query = f"delete from waiting_commits where did in {LISTED}"
        self._catalogue.con.execute(query, [listed(dropped)])
        self.load()
        return dropped
