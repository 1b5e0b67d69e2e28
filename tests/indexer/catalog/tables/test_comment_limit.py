"""Of one account on one track so many comments stand, the same ones whatever came first."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.repo.changes import RecordChange
from indexer.search.index import SearchIndex
from readapi.index.lookups import Index
from schemas import data_folder
from schemas.ids import record_key
from schemas.settings import Settings
from tests.indexer.changes import account, comment, delete, put, uri, write

BASE = "https://music.example"
SONG = uri("ana", "track", 0)
KEY = record_key(str(SONG))


class Kept:
    """A catalogue with its index, and what both say of one track's comments."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self.writer = Writer.open(Settings(data_dir=folder, comments_per_track=most))
        self._search = SearchIndex.open(folder / data_folder.SEARCH, BASE)

    def follow(self) -> None:
        """Let the index follow; what is counted is what a recount finds."""
        with self.writer.reader() as con:
            while self._search.follow(con) < self.writer.op:
                pass
            assert recount.find_wrong_counts(con) == []

    def listed(self) -> list[str]:
        """What is listed, in order of its texts; the counts agree with it."""
        self.follow()
        with self.writer.reader() as con:
            counted = con.execute("select comments from track_counts where subject_key = ?", [KEY]).fetchone()
        index = Index(self._folder, BASE)
        index.refresh()
        page = index.comment_page(KEY, None, 1000)
        assert index.comment_count(KEY) == len(page.items) == (counted[0] if counted else 0)
        return sorted(card.decode().split('"text":"')[1].split('"')[0] for card in page.items)

    def rows_stale(self, since: int) -> int:
        """How many documents the outbox has named since then."""
        with self.writer.reader() as con:
            return con.execute("select count(*) from outbox where op > ?", [since]).fetchone()[0]  # type: ignore[index]

    def reopened(self, most: int) -> "Kept":
        """Started again, with another setting."""
        self.close()
        return Kept(self._folder, most)

    def close(self) -> None:
        self._search.close()
        self.writer.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Three comments of an account on a track stand."""
    opened = Kept(tmp_path, 3)
    write(opened.writer, put("ana", "track", 0, at=0))
    yield opened
    opened.close()


def said(person: str, number: int, at: int) -> RecordChange:
    """The nth comment of somebody: numbers are the times of their keys."""
    return comment(person, SONG, number, at=at, text=f"{person}{number}", timestampMs=number)


def test_a_flood_is_not_listed(kept: Kept) -> None:
    """Two hundred comments of one account do not drown what another says; nor do they cost others' work."""
    write(
        kept.writer, *(said("mallory", number, 300 + number) for number in range(1, 201)), said("ben", 9, 600)
    )
    before = kept.writer.op

    write(kept.writer, said("mallory", 201, 700))

    assert kept.listed() == ["ben9", "mallory1", "mallory2", "mallory3"]
    assert kept.rows_stale(before) <= 4


def test_when_one_goes_the_next_takes_its_place(kept: Kept) -> None:
    """And gives it back to one that is older."""
    write(kept.writer, *(said("mallory", number, 300 + number) for number in range(2, 8)))

    write(kept.writer, delete("mallory", "comment", 3, at=400))
    without = kept.listed()
    write(kept.writer, said("mallory", 1, 500))

    assert without == ["mallory2", "mallory4", "mallory5"]
    assert kept.listed() == ["mallory1", "mallory2", "mallory4"]


@pytest.mark.parametrize("seed", range(2))
def test_whatever_comes_first_the_same_ones_stand(kept: Kept, seed: int) -> None:
    """In batches of any size: written, deleted, hidden, shown."""
    rng = random.Random(seed)
    changes = [said(who, number, 300 + number) for who in ("ben", "cid") for number in range(1, 9)]
    changes += [delete("ben", "comment", number, at=400 + number) for number in (1, 2, 5)]
    rng.shuffle(changes)
    while changes:
        size = rng.randint(1, 6)
        write(kept.writer, *changes[:size])
        changes = changes[size:]
        kept.follow()

    assert kept.listed() == ["ben3", "ben4", "ben6", "cid1", "cid2", "cid3"]
    kept.writer.write(Batch(accounts=[account("ben", "deactivated", at=900)]))
    assert kept.listed() == ["cid1", "cid2", "cid3"]


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (50, 8)])
@pytest.mark.slow
def test_another_setting_holds_from_the_next_start(tmp_path: Path, most: int, expected: int) -> None:
    """For what is stored already, counted and listed; and back."""
    kept = Kept(tmp_path, 3)
    write(
        kept.writer,
        put("ana", "track", 0, at=0),
        *(said("ben", number, 300 + number) for number in range(1, 9)),
    )
    assert len(kept.listed()) == 3

    other = kept.reopened(most)
    found = other.listed()
    back = other.reopened(3)

    assert found == [f"ben{number}" for number in range(1, expected + 1)]
    assert back.listed() == ["ben1", "ben2", "ben3"]
    back.close()
