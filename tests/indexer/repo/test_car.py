"""The reader of CARs takes what atproto writes, compares every hash, and refuses the rest with a reason."""

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.repo import car

ONE, TWO = b"\xa1aa\x01", b"\xa1aa\x02"
PAIRS = [(car.cid_of(ONE), ONE), (car.cid_of(TWO), TWO)]
WHOLE = car.write_car([PAIRS[0][0]], PAIRS)


def test_blocks_are_found_under_their_cids():
    """What was written is read back, roots and blocks."""
    read = car.read_car(WHOLE)

    assert read.roots == (car.cid_of(ONE),)
    assert read.blocks == {car.cid_of(ONE): ONE, car.cid_of(TWO): TWO}


def test_the_cid_of_a_block_is_what_the_network_calls_it():
    """The CID of {"a": 1}, as any other implementation writes it."""
    text = libipld.encode_multibase("b", car.cid_of(ONE))

    assert text == "bafyreihltcnuuyqp2jm24aqydpnlj7b6w3ogwrplomrjtg5rifv44mmjey"


def test_a_block_may_come_twice():
    """Duplicates are normal in the wild and change nothing."""
    assert car.read_car(car.write_car([PAIRS[0][0]], PAIRS * 2)) == car.read_car(WHOLE)


def test_a_raw_block_is_held_to_its_hash_too():
    """Blocks of the raw codec have the same hash behind another prefix."""
    cid = b"\x01\x55\x12\x20" + car.cid_of(b"bytes")[4:]

    assert car.read_car(car.write_car([PAIRS[0][0]], [(cid, b"bytes")])).blocks == {cid: b"bytes"}


def test_a_block_under_a_wrong_cid_is_refused():
    """The hash is recomputed for every block."""
    with pytest.raises(car.CarError, match="a block does not match its CID"):
        car.read_car(car.write_car([PAIRS[0][0]], [PAIRS[0], (car.cid_of(ONE), TWO)]))


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        (b"", "the CAR is truncated"),
        (WHOLE[:-1], "the CAR is truncated"),
        (WHOLE[:20], "the CAR is truncated"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a length in the CAR is absurd"),
        (WHOLE + b"\xff\xff\xff\xff\xff\x01", "a length in the CAR is absurd"),
        (WHOLE + b"\xff\xff\xff\xff\x0f", "the CAR is truncated"),
        (WHOLE + b"\x05hello", "a block's CID is not CIDv1 with SHA-256"),
        (WHOLE + b"\x00", "a block's CID is not CIDv1 with SHA-256"),
        (WHOLE + b"\x28\x12\x20" + bytes(38), "a block's CID is not CIDv1 with SHA-256"),
        (b"\xff\x7f" + WHOLE, "the CAR header is too long"),
        (b"\x03abc", "the CAR header is not DAG-CBOR"),
        (b"\x01\x80", "the CAR is not version 1"),
        (b"\x0a\xa1gversion\x02", "the CAR is not version 1"),
        (b"\x0a\xa1gversion\x01", "the CAR's roots are not CIDs"),
        (bytes(2_000_001), "the CAR is too large"),
    ],
)
def test_a_car_that_is_not_one_is_refused_with_a_reason(hostile, reason):
    """Cut, oversized and absurd bytes each give their own short reason."""
    with pytest.raises(car.CarError, match=reason):
        car.read_car(hostile)


def test_blocks_are_counted():
    """A CAR of a million empty blocks is stopped at the limit."""
    with pytest.raises(car.CarError, match="the CAR has too many blocks"):
        car.read_car(car.write_car([PAIRS[0][0]], PAIRS * 2), max_blocks=3)


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_whatever_is_written_is_read(blocks):
    """Blocks of any size and number come back."""
    pairs = [(car.cid_of(block), block) for block in blocks]

    assert car.read_car(car.write_car([car.cid_of(b"")], pairs)).blocks == dict(pairs)


@given(st.data())
def test_damage_is_refused_or_harmless(data):
    """A flipped bit or a cut never lets a block through under another's CID, and raises nothing else."""
    damaged = bytearray(WHOLE[: data.draw(st.integers(0, len(WHOLE)))])
    if damaged and data.draw(st.booleans()):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    try:
        read = car.read_car(bytes(damaged))
    except car.CarError:
        return
    assert all(car.matches_cid(cid, block) for cid, block in read.blocks.items())
    assert read.blocks.items() <= dict(PAIRS).items()
