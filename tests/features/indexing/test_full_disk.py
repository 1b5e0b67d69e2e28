"""A disk that runs full at any moment, and has room again later, costs nothing that was committed.

FULL_DISK_ROUNDS sets how often (1; make test-long 40), SEED is the first of them.
"""

import asyncio
import os
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexer.catalog.database import Database
from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from indexer.stores import Stores
from schemas import data_folder
from tests.features.indexing.test_crash import SOURCE, event
from tests.indexer.changes import START, contents, settings
from tests.indexer.killing import children
from tests.indexer.search.test_index import contents as documents
from tests.mounting import mounted_in_memory

ROUNDS = int(os.environ.get("FULL_DISK_ROUNDS", "1"))
SEED = int(os.environ.get("SEED", "1"))
DISK_BYTES = 40 << 20
ROOM = (0, 0, 4096, 20_000, 100_000, 300_000, 1_000_000, 3_000_000)  # left on the disk, at most


class SmallDisk:
    """A file system in memory, filled by a file."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self, room: int) -> None:
        """Leave so many bytes at most."""
        found = os.statvfs(self._ballast.parent)
        self._ballast.write_bytes(bytes(max(0, found.f_bavail * found.f_frsize - room)))

    def free(self) -> None:
        """Let there be room again."""
        self._ballast.unlink(missing_ok=True)


class Limit:
    """What a full disk is where no file system may be mounted: files that cannot grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, room: int) -> None:
        """Let no file be longer than so many bytes more than DuckDB's log."""
        log = self._folder / "data" / data_folder.CATALOGUE_LOG
        longest = log.stat().st_size if log.exists() else 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (longest + room, resource.RLIM_INFINITY))

    def free(self) -> None:
        """Let them grow."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.fixture(params=[SmallDisk, Limit])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[type[SmallDisk | Limit], Path]]:
    """A kind of disk, and a folder on it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param is Limit:
        yield Limit, folder
        return
    with mounted_in_memory(folder, f"size={DISK_BYTES}"):
        yield SmallDisk, folder


class Indexer:
    """What the indexer does with its stores: whatever the disk refuses ends it."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self._settings = settings(folder, snapshot_seconds=0.001, snapshot_share=1, parquet_seconds=1)
        self._dice = dice
        self.refused: list[str] = []

    async def run(self, last: int, before_each: Callable[[int], None]) -> int:
        """Follow to an event, or to the first refusal. Returns the last that is known to be committed."""
        try:
            stores = Stores.open(self._settings)
        except StoreError as error:
            self.refused.append(str(error))
            return 0
        stores.snapshots.caught_up()
        committed = stores.writer.cursor(SOURCE) or 0
        try:
            for number in range(last):
                before_each(number)
                until = min(last, committed + self._dice.randrange(1, 60))
                changes = [event(seq) for seq in range(committed + 1, until + 1)]
                await stores.write(Batch(changes=changes, cursors={SOURCE: StreamCursor(until, START)}))
                committed = until
                if self._dice.random() < 0.5:
                    await stores.prune(await stores.follow())
                if self._dice.random() < 0.2:
                    await stores.publish()
                if committed >= last:
                    break
            while await stores.follow() < stores.writer.op:
                pass
        except StoreError as error:
            self.refused.append(str(error))
        finally:
            await stores.close()
        return committed


def work(kind: type[SmallDisk | Limit], folder: Path, seed: int) -> None:
    """One round: the disk runs full again and again, at any moment."""
    dice, small = random.Random(seed), kind(folder)
    indexer = Indexer(folder / "data", dice)
    known = 0
    for _ in range(2):
        full_at, room = dice.randrange(1, 6), dice.choice(ROOM)

        def fill(number: int, full_at: int = full_at, room: int = room) -> None:
            if number == full_at:
                small.fill(dice.randrange(room + 1))

        known = max(known, asyncio.run(indexer.run(known + 150, fill)))
        if dice.random() < 0.5:  # it is started again while the disk is full
            known = max(known, asyncio.run(indexer.run(known + 30, lambda number: None)))
        small.free()
        with Writer.open(settings(folder / "data")) as writer:
            reached = writer.cursor(SOURCE) or 0
        assert reached >= known, "committed events are there"
        known = reached
    last = known + 40
    assert asyncio.run(indexer.run(last, lambda number: None)) == last
    undisturbed = Indexer(folder.parent / "undisturbed", random.Random(0))
    assert asyncio.run(undisturbed.run(last, lambda number: None)) == last
    assert everything(folder / "data") == everything(folder.parent / "undisturbed")
    assert [said for said in indexer.refused if "room" not in said] == []
    assert undisturbed.refused == []


def everything(folder: Path) -> list[object]:
    """Rows, cursor and search documents, without the proofs that say when each was verified."""
    with Writer.open(settings(folder)) as writer:
        found = [contents(writer.reader()), writer.cursor(SOURCE)]
    made = documents(folder / data_folder.SEARCH).items()
    return [*found, {name: getattr(one, "card", one) for name, one in made}]


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.slow
def test_a_full_disk_takes_nothing_that_was_committed(
    disk: tuple[type[SmallDisk | Limit], Path], number: int
) -> None:
    """Catalogue and search index end as those of an indexer that nothing disturbed; each refusal says why."""
    kind, folder = disk

    child = children.Process(target=work, args=(kind, folder, SEED + number))
    child.start()
    child.join(300)

    assert child.exitcode == 0, f"SEED={SEED + number}"


@pytest.mark.parametrize("disk", [SmallDisk], indirect=True)
def test_a_long_log_goes_into_the_file_though_there_may_be_no_room(
    disk: tuple[type[SmallDisk | Limit], Path],
) -> None:
    """A short one waits for room; but logs that only grew would fill the disk by themselves."""
    kind, folder = disk
    small = kind(folder)
    catalogue = Database.open(settings(folder / "data"))
    write = "insert into dead_letters select now(), 'x', i, null, 'x', repeat(md5(i::varchar), 32)::blob"

    def worst_room() -> int:
        return catalogue.path.stat().st_size + catalogue.wal_bytes

    catalogue.con.execute(f"{write} from range(2000) t(i)")
    assert catalogue.checkpoint()
    catalogue.con.execute(f"{write} from range(100) t(i)")
    small.fill(worst_room())
    assert not catalogue.checkpoint()
    small.free()
    catalogue.con.execute(f"{write} from range(2000) t(i)")
    small.fill(worst_room())
    assert catalogue.checkpoint()
    assert catalogue.wal_bytes == 0
    catalogue.close()
