"""Files as lists of blocks, each known by its hash: two versions of a file share most of them. Pure."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import Annotated, Final, Self

from isal import isal_zlib
from pydantic import BaseModel, ConfigDict, Field, model_validator

BLOCK_BYTES: Final = 256 << 10  # the size of DuckDB's blocks, and where they begin
MOST_LIST_BYTES: Final = 256 << 20  # of a list of blocks, as text: a file of a terabyte
_LEVEL: Final = 1

BlockHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class DamagedBlock(ValueError):
    """The content does not match its hash."""


class BlockList(BaseModel):
    """A file as its blocks' hashes in order. `modified_ns`: when it was last written, as Unix time."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    size: int = Field(ge=0)
    modified_ns: int
    blocks: list[BlockHash]

    @model_validator(mode="after")
    def _has_all_blocks(self) -> Self:
        if len(self.blocks) != -(-self.size // BLOCK_BYTES):
            raise ValueError(f"{self.size} bytes are not {len(self.blocks)} blocks")
        return self

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """The hash of each block, its offset and its length."""
        for number, block in enumerate(self.blocks):
            offset = number * BLOCK_BYTES
            yield block, offset, min(BLOCK_BYTES, self.size - offset)


def hash_block(content: bytes) -> str:
    """The name of a block."""
    return hashlib.sha256(content).hexdigest()


def pack(content: bytes) -> bytes:
    """A block as it is stored."""
    packed: bytes = isal_zlib.compress(content, _LEVEL)
    return packed


def is_whole(packed: bytes, name: str) -> bool:
    """Whether a stored block is the one of this name."""
    try:
        return hash_block(inflate(packed, BLOCK_BYTES)) == name
    except DamagedBlock:
        return False


def unpack(packed: bytes, expected: str, length: int) -> bytes:
    """Unpack a stored block. Raises DamagedBlock unless its hash and length are the expected ones."""
    content = inflate(packed, length)
    if len(content) != length or hash_block(content) != expected:
        raise DamagedBlock(expected)
    return content


def inflate(packed: bytes, most: int = MOST_LIST_BYTES) -> bytes:
    """Decompress, stopping one byte beyond `most`. Raises DamagedBlock."""
    try:
        content = zlib.decompressobj().decompress(packed, most + 1)
    except zlib.error as error:
        raise DamagedBlock(str(error)) from error
    return content
