"""Commits -> changes to records of our collections; and the head that a repo is known up to. Pure."""

from dataclasses import dataclass, field
from typing import Literal

import libipld

from indexer.events import Action, Commit, Unverified
from schemas.ids import AtUri, Cid, Did, Nsid, Rkey, Tid

Verified = Literal["commit", "repo", "proof", "unverified"]


State = Literal["pending", "resyncing", "active", "desynchronized", "error"]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record created, updated or deleted by the commit `rev`, and how that commit was verified."""

    did: Did
    collection: Nsid
    rkey: Rkey
    rev: Tid
    action: Action
    cid: Cid | None
    block: bytes | None
    verified: Verified = "unverified"
    uri: AtUri = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", AtUri(self.did, self.collection, self.rkey))

    def beats(self, rev: str, verified: str) -> bool:
        """True when this change replaces a stored version of that rev and verification.

        Equal revs are the same commit: the verified one wins. A fetched repo replaces an unverified version
        whatever rev its host claimed.
        """
        if verified == "unverified" and (self.verified == "repo" or self.rev == rev):
            return self.verified != "unverified"
        return self.rev > rev


def changes_of(commit: Commit | Unverified, collections: frozenset[Nsid]) -> list[RecordChange]:
    """The commit's changes to records of these collections. The caller has verified a `Commit`."""
    changes = []
    verified: Verified = "commit" if isinstance(commit, Commit) else "unverified"
    for operation in commit.operations:
        collection, _, rkey = operation.path.partition("/")
        if collection not in collections:
            continue
        cid, block = None, None
        if operation.cid is not None:
            cid = Cid(libipld.encode_multibase("b", operation.cid))
            block = commit.blocks[operation.cid]
        changes.append(
            RecordChange(
                commit.did,
                Nsid(collection),
                Rkey(rkey),
                commit.rev,
                operation.action,
                cid,
                block,
                verified,
            )
        )
    return changes


@dataclass(frozen=True, slots=True)
class RepoHead:
    """A repo's state, the rev of its newest applied commit, and the CID of that commit's tree (`data`).

    `fetch`: only fetching the whole repo can make it active again. `reason`: why it is not active.
    """

    state: State
    rev: Tid | None = None
    data: bytes | None = None
    fetch: bool = False
    reason: str | None = None


def newest_changes(changes: list[RecordChange]) -> list[RecordChange]:
    """Each record's change with the highest rev, in order of arrival; of equal revs, a verified one."""
    found: dict[tuple[Did, Nsid, Rkey], RecordChange] = {}
    for change in changes:
        known = found.setdefault((change.did, change.collection, change.rkey), change)
        if change.beats(known.rev, known.verified):
            found[change.did, change.collection, change.rkey] = change
    return list(found.values())
