"""An index of an older version is made anew beside it, whatever is written or killed meanwhile.

REBUILD_KILLS sets how often that is cut short by a kill (2; make test-long 10).
"""

import itertools
import os
import random
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from indexer.search.index import SearchIndex
from indexer.search.rebuild import Rebuild, rebuild_index
from indexer.stores import Stores
from schemas import data_folder
from schemas.search_index import VERSION, VERSION_FILE
from tests.features.indexing.test_crash import event
from tests.indexer.changes import settings, write
from tests.indexer.killing import killed
from tests.indexer.search.test_index import BASE, Contents, caught_up, contents

KILLS = int(os.environ.get("REBUILD_KILLS", "2"))


def say_version(path: Path, version: str) -> None:
    """Let all indexes be of another version."""
    for folder in path.iterdir():
        (folder / VERSION_FILE).write_text(version)


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A data folder with an index of an older version, whose outbox no longer goes back to the beginning."""
    with Writer.open(settings(tmp_path)) as writer:
        write(writer, *(event(seq) for seq in range(1, 200)))
        index = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
        writer.prune(caught_up(index, writer))
        index.close()
    say_version(tmp_path / data_folder.SEARCH, str(VERSION - 1))
    return tmp_path


def expected(folder: Path) -> Contents:
    """What an index of this catalogue holds, made while nothing else is done."""
    with Writer.open(settings(folder)) as writer, writer.reader() as con:
        rebuild_index(con, folder / "expected", BASE, lambda done, total: None)
    return contents(folder / "expected")


async def opened(folder: Path) -> Stores:
    """As the indexer opens them."""
    return Stores.open(settings(folder, public_url=BASE))


async def test_an_older_index_is_made_anew_while_the_catalogue_is_written(older: Path) -> None:
    """Between any two steps records come, change and go, and a snapshot can be published."""
    stores = await opened(older)
    numbers = itertools.count(200)
    marks, published = [stores.watermark], []
    while (mark := await stores.follow()) < stores.writer.op:
        if mark < 0:
            await stores.write(Batch(changes=[event(next(numbers)) for _ in range(40)]))
            await stores.publish()
            published.append(stores.snapshots.current.exists())
        marks.append(mark)
    await stores.close()

    assert (older / "search.new").exists() is (older / "search.old").exists() is False
    assert len(published) > 4
    assert published[0]
    assert marks[: len(published)] == [-1] * len(published)
    assert contents(older / data_folder.SEARCH) == expected(older)


def work(folder: Path, _last: int, at_work: Event) -> None:
    """Make the index anew, slowly, until killed."""
    with Writer.open(settings(folder)) as writer, writer.reader() as con:
        making = Rebuild(folder / data_folder.SEARCH, BASE)
        while making.step(con):
            at_work.set()
            time.sleep(0.05)
        time.sleep(60)


async def test_a_kill_in_the_middle_begins_again(older: Path) -> None:
    """The older one is not served for half a new one, nor the half one for whole."""
    for number in range(KILLS, 0, -1):  # the first one, which is killed at work, comes last
        killed(work, older, random.Random(number), number)
    assert (older / "search.new").exists()

    stores = await opened(older)
    assert stores.watermark == -1
    while await stores.follow() < stores.writer.op:
        pass
    await stores.close()

    assert not (older / "search.new").exists()
    assert contents(older / data_folder.SEARCH) == expected(older)


async def test_a_kill_between_the_two_renames_loses_nothing(older: Path) -> None:
    """The next start puts the new index in place, and the old one goes."""
    with Writer.open(settings(older)) as writer, writer.reader() as con:
        making = Rebuild(older / data_folder.SEARCH, BASE)
        while making.step(con):
            pass
        (older / data_folder.SEARCH).rename(older / "search.old")

    stores = await opened(older)
    assert await stores.follow() == stores.writer.op
    await stores.close()

    assert not (older / "search.old").exists()
    assert contents(older / data_folder.SEARCH) == expected(older)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            str(VERSION + 1),
            "made by a newer version of this program; use that one, or run `fmsvc-server rebuild`",
        ),
        ("eight", "cannot be read .*'eight' is no version of an index.*; run `fmsvc-server rebuild`"),
    ],
)
async def test_a_newer_or_damaged_version_is_refused(older: Path, version: str, said: str) -> None:
    """With a sentence; nothing is made anew by itself."""
    say_version(older / data_folder.SEARCH, version)

    with pytest.raises(StoreError, match=said):
        await opened(older)

    assert not (older / "search.new").exists()
