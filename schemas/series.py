"""The numbers of artists and tags in files of series, the same in Python and in SQL."""

import hashlib
from typing import Final

# Of DuckDB; `{name}`: an expression, a DID or a tag. Rows sorted by numbers are found by the least and the
# greatest of each block; sorted by DIDs they are not, since these begin alike.
SUBJECT: Final = "(md5_number_lower({name}) >> 1)::bigint"


def subject_of(name: str) -> int:
    """The number of an artist (by the DID) or of a tag, as SUBJECT calculates it."""
    digest = hashlib.md5(name.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") >> 1
