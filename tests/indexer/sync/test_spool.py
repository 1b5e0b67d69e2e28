"""A CAR on disk gives back each block that it has, and is refused when one is not what its CID says."""

import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.repo import car
from indexer.repo.car import CarError
from indexer.sync.spool import MAX_BYTES, Spool, SpoolFull, Spools

ROOT = car.cid_of(b"the root")


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spools(tmp_path / "scratch").open() as opened:
        yield opened


def blocks(count: int) -> list[tuple[bytes, bytes]]:
    """Blocks of all sizes, that of nothing and some that need three bytes for their length among them."""
    chance = random.Random(count)
    made = [chance.randbytes(chance.choice((0, 1, 80, 200, 30_000))) for _ in range(count)]
    return [(car.cid_of(block), block) for block in made]


def test_every_block_is_found_by_its_cid(spool: Spool) -> None:
    """However the bytes came in pieces."""
    known, chance = blocks(200), random.Random(1)
    whole, at = car.write_car([ROOT], known), 0
    while at < len(whole):
        length = chance.randint(1, 50_000)
        spool.write(whole[at : at + length])
        at += length

    assert spool.index() == (ROOT,)
    assert all(spool.get(cid) == block for cid, block in known)
    assert spool.get(ROOT) is None


def test_a_length_may_be_written_longer_than_needed(spool: Spool) -> None:
    """Where the next block begins is where it was read, not where it should have been."""
    [(first_cid, first), (second_cid, second)] = [(car.cid_of(block), block) for block in (b"1", b"2")]
    spool.write(
        car.write_car([ROOT], []) + b"\xa5\x80\x00" + first_cid + first + b"\x25" + second_cid + second
    )

    spool.index()

    assert (spool.get(first_cid), spool.get(second_cid)) == (first, second)


def test_a_repeated_block_is_found_once(spool: Spool) -> None:
    known = blocks(5)
    spool.write(car.write_car([ROOT], known * 3))

    spool.index()

    assert all(spool.get(cid) == block for cid, block in known)


@pytest.mark.parametrize(
    ("bytes_", "why"),
    [
        (b"", "truncated"),
        (b"\x80", "truncated"),
        (b"\xff\xff\x03", "header is too long"),
        (b"\x05abc", "truncated"),
        (b"\x01\xf6", "not version 1"),
        (car.write_car([ROOT], [(ROOT, b"something else")]), "does not match"),
        (car.write_car([ROOT], blocks(3))[:-1], "truncated"),
        (car.write_car([ROOT], []) + b"\x80", "truncated"),
        (car.write_car([ROOT], []) + b"\x01\x01", "not CIDv1"),
        (car.write_car([ROOT], []) + b"\x00", "not CIDv1"),
        (car.write_car([ROOT], []) + b"\xff\xff\xff\x7f", "too large"),
        (car.write_car([ROOT], []) + b"\x80" * 6, "absurd"),
        (car.write_car([ROOT], blocks(11)), "too many"),
    ],
)
def test_what_is_no_car_is_refused(spool: Spool, bytes_: bytes, why: str) -> None:
    spool.write(bytes_)

    with pytest.raises(CarError, match=why):
        spool.index(max_blocks=10)


def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    """Not even while it is in use, so a kill needs no cleaning up."""
    with Spools(tmp_path).open() as spool:
        spool.write(car.write_car([ROOT], blocks(3)))
        spool.index()

        assert list(tmp_path.iterdir()) == []


def test_all_together_take_only_so_much_of_the_disk(tmp_path: Path) -> None:
    """Until one of them is done."""
    spools = Spools(tmp_path, max_bytes=10)
    with spools.open() as first:
        first.write(b"12345678")
        with pytest.raises(SpoolFull), spools.open() as second:
            second.write(b"123")
    with spools.open() as third:
        third.write(b"1234567890")


@pytest.fixture
def full_disk() -> Iterator[None]:
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, most))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


@pytest.mark.parametrize("size", [100_000, 3_000_000])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_no_end(tmp_path: Path, size: int) -> None:
    """Whether it is noticed while a repo is written or only after that."""
    spools = Spools(tmp_path)
    with pytest.raises(SpoolFull, match="too large") as no_room, spools.open() as spool:
        spool.write(bytes(size))

    assert no_room.value.transient
    assert spools.free_bytes == MAX_BYTES


def test_memory_does_not_grow_with_the_file(spool: Spool) -> None:
    chance = random.Random(1)
    spool.write(car.write_car([ROOT], []))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cids = []
    for _ in range(1000):
        block = chance.randbytes(60_000)
        cids.append(car.cid_of(block))
        spool.write(car.write_car([], [(cids[-1], block)])[len(car.write_car([], [])) :])

    spool.index()

    assert all(len(spool.get(cid) or b"") == 60_000 for cid in cids)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
