"""Commits -> changes to records of ours. Pure."""

import libipld

from indexer.batch import RecordChange
from indexer.events import Commit
from schemas.ids import Cid, Nsid, Rkey


def changes_of(commit: Commit, collections: frozenset[Nsid]) -> list[RecordChange]:
    """What a verified commit does to records of these collections."""
    changes = []
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
                "commit",
            )
        )
    return changes
