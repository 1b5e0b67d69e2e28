"""Two at-uris of different accounts whose hashes begin with the same 53 bits: found with 2^28 hashes."""

import dataclasses

from indexer.repo.changes import RecordChange
from schemas.ids import AtUri, Rkey
from tests.indexer.changes import put, uri

SHARED_ID = 263827242439171
_RKEYS = {"mara": Rkey("3m5sxcon2w6zn"), "ben": Rkey("3m5exluy4msi6")}


def meeting(person: str) -> AtUri:
    """The address of mara's, or of ben's."""
    return dataclasses.replace(uri(person, "track"), rkey=_RKEYS[person])


def put_meeting(person: str, *, at: int, **fields: object) -> RecordChange:
    """The track at that address, written at a second."""
    return dataclasses.replace(put(person, "track", at=at, **fields), rkey=_RKEYS[person])
