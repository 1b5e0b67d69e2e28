"""Files as lists of blocks."""

import os

import pytest
from pydantic import ValidationError

from indexer.replication.blocks import BLOCK_BYTES, BlockList, DamagedBlock, hash_block, inflate, pack, unpack


def test_a_block_comes_back_as_it_was() -> None:
    """Smaller, where it can be."""
    content = b"DuckDB" * 40_000

    packed = pack(content)

    assert len(packed) < len(content) / 10
    assert unpack(packed, hash_block(content), len(content)) == content


@pytest.mark.parametrize("damage", ["short", "long", "other", "garbage", "bomb"])
def test_a_block_that_is_not_the_one_of_the_hash_is_refused(damage: str) -> None:
    """Whatever it is instead, and however much it would become."""
    content = os.urandom(1000)
    packed = {
        "short": pack(content[:-1]),
        "long": pack(content + b"x"),
        "other": pack(content[::-1]),
        "garbage": content,
        "bomb": pack(bytes(64 << 20)),
    }[damage]

    with pytest.raises(DamagedBlock):
        unpack(packed, hash_block(content), len(content))


def test_what_is_inflated_has_a_bound() -> None:
    """A byte more than was allowed, so that it is noticed."""
    assert len(inflate(pack(bytes(1 << 20)), 100)) == 101


def test_a_list_names_every_block_of_its_file() -> None:
    """The last one may be shorter."""
    blocks = [hash_block(b"a"), hash_block(b"b")]

    listed = BlockList(size=BLOCK_BYTES + 5, modified_ns=0, blocks=blocks)

    assert [span[1:] for span in listed.spans()] == [(0, BLOCK_BYTES), (BLOCK_BYTES, 5)]
    with pytest.raises(ValidationError):
        BlockList(size=BLOCK_BYTES, modified_ns=0, blocks=blocks)
