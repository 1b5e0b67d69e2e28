"""Commits -> changes to records of ours. Pure."""

import libipld

from indexer.batch import RecordChange, Verified
from indexer.events import Commit, Unverified
from schemas.ids import Cid, Nsid, Rkey


def changes_of(commit: Commit | Unverified, collections: frozenset[Nsid]) -> list[RecordChange]:
    """What a commit, which is verified if it can be, does to records of these collections."""
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
