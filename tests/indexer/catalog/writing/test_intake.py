"""One batch fills while one is written; nothing is held beyond the buffer or passed by the cursor."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.writing import intake as intakes
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.intake import Intake
from indexer.search.follower import Follower
from tests.indexer.changes import START
from tests.indexer.running import until
from tests.patience import PATIENCE_SECONDS

MEGABYTE = 1 << 20


class Disk:
    """Takes batches, at the speed that the test allows."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.broken = False

    async def write(self, batch: Batch) -> BatchResult:
        await self.ready.wait()
        if self.broken:
            raise OSError("no space left on device")
        self.batches.append(batch)
        return BatchResult(len(batch), 0, 0, 0, len(self.batches), (), ())


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def seconds() -> float:
    """Between two batches."""
    return 0.2


@pytest.fixture
async def intake(disk: Disk, seconds: float) -> AsyncIterator[Intake]:
    opened = Intake(disk.write, batch_rows=10, batch_seconds=seconds, buffer_bytes=MEGABYTE)
    running = asyncio.create_task(opened.run())
    yield opened
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def put(intake: Intake, seq: int, size: int = 100) -> None:
    letter = DeadLetter(START, "relay", seq, None, "test", b"")
    intake.batch.dead_letters.append(letter)
    intake.added(1, size)
    intake.batch.cursors["relay"] = StreamCursor(seq, START)
    intake.added()


async def test_ten_rows_are_written_at_once(intake: Intake, disk: Disk) -> None:
    for seq in range(10):
        put(intake, seq)
    await asyncio.sleep(0.02)

    assert [len(batch) for batch in disk.batches] == [10]


async def test_after_a_quiet_spell_a_row_is_written_at_once(intake: Intake, disk: Disk) -> None:
    put(intake, 1)
    await asyncio.sleep(0.05)

    assert len(disk.batches) == 1


async def test_rows_that_follow_soon_are_written_together(intake: Intake, disk: Disk) -> None:
    put(intake, 1)
    await asyncio.sleep(0.05)
    put(intake, 2)
    put(intake, 3)
    await asyncio.sleep(0.05)
    early = len(disk.batches)
    await asyncio.sleep(0.2)

    assert early == 1
    assert [len(batch) for batch in disk.batches] == [1, 2]


async def test_after_a_long_write_comes_as_long_a_pause(intake: Intake, disk: Disk) -> None:
    """A write costs as much for a few rows as for many, so the next ones come together."""
    disk.ready.clear()
    put(intake, 1)
    await asyncio.sleep(0.4)
    disk.ready.set()
    put(intake, 2)
    await asyncio.sleep(0.3)
    put(intake, 3)
    await asyncio.sleep(0.2)

    assert [len(batch) for batch in disk.batches] == [1, 2]


async def test_a_batch_is_held_while_the_search_index_is_at_work(intake: Intake, disk: Disk) -> None:
    """Written beside a step it would be found no sooner, and both would take longer."""
    at_work = True
    intake.is_held = lambda: at_work
    put(intake, 1)
    await asyncio.sleep(0.05)
    held = len(disk.batches)
    at_work = False
    intake.release()
    await asyncio.sleep(0.05)

    assert (held, len(disk.batches)) == (0, 1)


async def test_a_batch_is_not_held_over_several_steps(intake: Intake, disk: Disk) -> None:
    """As while the index is rebuilt, where each step begins when the one before has ended."""

    async def follow() -> int:
        await asyncio.sleep(0.05)
        return -1

    async def prune(_: int) -> None: ...

    follower = Follower(follow, prune, watermark=-1, op=0)
    intake.is_held, follower.rested = lambda: follower.is_at_work, intake.release
    follower.committed(1)
    running = asyncio.create_task(follower.run())
    await asyncio.sleep(0.01)

    put(intake, 1)
    held = follower.is_at_work and not disk.batches
    async with asyncio.timeout(intakes.HELD_SECONDS / 2):
        await until(lambda: disk.batches)

    running.cancel()
    assert held


async def test_a_batch_is_not_held_for_long(
    intake: Intake, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intakes, "HELD_SECONDS", 0.4)
    intake.is_held = lambda: True
    put(intake, 1)
    await asyncio.sleep(0.2)
    held = len(disk.batches)
    await asyncio.sleep(0.4)

    assert (held, len(disk.batches)) == (0, 1)


@pytest.mark.parametrize("awaits", [Intake.stored, Intake.committed])
async def test_a_batch_that_a_caller_awaits_is_not_held(
    intake: Intake, disk: Disk, awaits: Callable[[Intake], Awaitable[BatchResult]]
) -> None:
    intake.is_held = lambda: True
    put(intake, 1)
    await asyncio.sleep(0.01)

    async with asyncio.timeout(intakes.HELD_SECONDS / 2):
        await awaits(intake)

    assert len(disk.batches) == 1


async def test_a_full_batch_is_not_held(intake: Intake, disk: Disk) -> None:
    intake.is_held = lambda: True
    for seq in range(10):
        put(intake, seq)
    await asyncio.sleep(0.05)

    assert len(disk.batches) == 1


async def test_a_cursor_alone_is_written_after_a_second(intake: Intake, disk: Disk) -> None:
    """Idle traffic moves the cursor once a second, not with every frame."""
    started = asyncio.get_running_loop().time()
    while not disk.batches:
        intake.batch.cursors["relay"] = StreamCursor(7, None)
        intake.added()
        await asyncio.sleep(0.01)

    assert asyncio.get_running_loop().time() - started >= 0.9
    assert disk.batches[0].cursors == {"relay": StreamCursor(7, None)}


@pytest.mark.parametrize("seconds", [10 * PATIENCE_SECONDS])
async def test_whoever_waits_for_a_commit_gets_it_at_once(intake: Intake, disk: Disk) -> None:
    """However long the next batch has time."""
    for seq in (1, 2):
        put(intake, seq)
        async with asyncio.timeout(PATIENCE_SECONDS):
            written = await intake.committed()

    assert (written.rows, len(disk.batches)) == (1, 2)


async def test_waiting_for_a_commit_covers_what_was_put_in_before(intake: Intake, disk: Disk) -> None:
    """Also when an earlier batch is being written at that moment."""
    disk.ready.clear()
    first = asyncio.create_task(intake.committed())
    await asyncio.sleep(0.01)
    put(intake, 2)
    second = asyncio.create_task(intake.committed())
    await asyncio.sleep(0.01)

    disk.ready.set()
    await asyncio.gather(first, second)

    assert [letter.seq for letter in disk.batches[1].dead_letters] == [2]


async def test_the_next_batch_grows_while_one_is_written(intake: Intake, disk: Disk) -> None:
    disk.ready.clear()
    for seq in range(10):
        put(intake, seq)
    await asyncio.sleep(0.01)
    for seq in range(10, 60):
        put(intake, seq)

    disk.ready.set()
    await asyncio.sleep(0.05)

    assert [len(batch) for batch in disk.batches] == [10, 50]


async def test_a_full_buffer_makes_the_reader_wait(intake: Intake, disk: Disk) -> None:
    """However slow the disk and however large the frames, not more than the buffer and one frame are held."""
    disk.ready.clear()
    read = 0

    async def reader() -> None:
        nonlocal read
        for seq in range(1000):
            await intake.room()
            put(intake, seq, size=100_000)
            read += 1

    reading = asyncio.create_task(reader())
    await asyncio.sleep(0.1)
    held = read
    disk.ready.set()
    await reading

    assert held * 100_000 <= MEGABYTE + 100_000
    assert read == 1000


async def test_a_full_buffer_is_written_before_it_is_old(intake: Intake, disk: Disk) -> None:
    """Few large frames do not wait for batch_seconds while the reader waits for room."""
    for seq in range(5):
        put(intake, seq, size=200_000)
    await asyncio.sleep(0.05)

    assert disk.batches


async def test_closing_writes_what_there_is(disk: Disk) -> None:
    intake = Intake(disk.write, batch_rows=10, batch_seconds=60, buffer_bytes=MEGABYTE)
    put(intake, 1)
    intake.close()

    await intake.run()

    assert len(disk.batches) == 1
    assert intake.is_empty


async def test_a_failing_disk_ends_it(disk: Disk) -> None:
    """What the store refuses is not tried again, nor lost: the cursor stays before it."""
    disk.broken = True
    intake = Intake(disk.write, batch_rows=10, batch_seconds=0.1, buffer_bytes=MEGABYTE)
    told: list[Batch] = []
    intake.written = lambda batch, _: told.append(batch)
    put(intake, 1)

    with pytest.raises(OSError, match="no space"):
        await intake.run()

    assert not told
