"""Waiting commits: frames kept in the catalogue until a resync can replay them."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from indexer.catalog.database import LISTED, Database, join_words
from schemas.datetimes import to_utc
from schemas.ids import Did, Tid


@dataclass(frozen=True, slots=True)
class WaitingCommit:
    """The frame of a commit that cannot be applied yet, because its repo is not active."""

    did: Did
    rev: Tid
    received_at: datetime
    source: str
    seq: int | None
    raw: bytes


LIMIT_BYTES: Final = 512 << 20


class Waiting:
    """The table. Above the limit, repos with most bytes lose all their commits and are fetched instead."""

    def __init__(self, catalogue: Database, limit_bytes: int = LIMIT_BYTES) -> None:
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
        """Add commits. Returns the repos that lost their waiting commits to the limit."""
        rows = [asdict(commit) | {"received_at": to_utc(commit.received_at)} for commit in commits]
        self._catalogue.insert("waiting_commits", rows)
        self.count += len(rows)
        self._bytes += sum(len(commit.raw) for commit in commits)
        return self._drop_largest() if self._bytes > self._limit_bytes else []

    def take(self, dids: Collection[Did]) -> dict[Did, list[WaitingCommit]]:
        """Remove and return the waiting commits of these repos, each commit once."""
        if not dids or not self.count:
            return {}
        found: dict[Did, dict[tuple[str, bytes], WaitingCommit]] = {}
        for did, rev, received_at, source, seq, raw in self._catalogue.rows(
            "select did, rev, received_at, source, seq, raw from waiting_commits "
            f"where did in {LISTED} order by received_at",
            [join_words(dids)],
        ):
            commit = WaitingCommit(did, rev, received_at.replace(tzinfo=UTC), source, seq, raw)
            found.setdefault(did, {}).setdefault((rev, raw), commit)
        if found:
            query = f"delete from waiting_commits where did in {LISTED}"
            self._catalogue.con.execute(query, [join_words(found)])
            self.load()
        return {did: list(commits.values()) for did, commits in found.items()}

    def _drop_largest(self) -> list[Did]:
        """Drop all commits of the repos with most bytes, so that other repos lose none."""
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
        self._catalogue.con.execute(query, [join_words(dropped)])
        self.load()
        return dropped
