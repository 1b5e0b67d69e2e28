"""Dead letters are listed, shown and taken in again, by the indexer that runs or without one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from indexer import operations
from indexer.catalog.tables.dead_letters import PAGE, DeadLetter, LetterFilter
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.control import dead_letters
from indexer.faults import StoreError
from schemas.settings import Settings
from tests import documents
from tests.indexer.changes import START
from tests.indexer.running import Running, running
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

RELAY = "wss://relay.example"
ALL = LetterFilter()


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=START)


@pytest.fixture
async def network_of_ana(ana: ForgedRepo) -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork([ana]) as network:
        yield network


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay() as relay:
        yield relay


@pytest.fixture
def configured(tmp_path: Path, network_of_ana: ForgedNetwork, relay: Relay) -> Settings:
    return Settings(
        data_dir=tmp_path,
        relay=relay.url,
        plc_url=network_of_ana.url,
        handle_resolver=network_of_ana.url,
        allow_loopback=True,
        batch_seconds=0.02,
    )


def letter(number: int, raw: bytes, reason: str = "the frame is not DAG-CBOR") -> DeadLetter:
    return DeadLetter(START + timedelta(seconds=number), RELAY, number, None, reason, raw)


def keep(configured: Settings, *kept: DeadLetter) -> None:
    with Writer.open(configured) as writer:
        writer.write(Batch(dead_letters=list(kept)))


def a_good_frame(ana: ForgedRepo) -> bytes:
    """A commit that an earlier version could not use, let us say."""
    ana.create("fm.svc.track", documents.least("track"))
    return ana.commit_frame(7)


@asynccontextmanager
async def either(configured: Settings, runs: bool) -> AsyncIterator[Running | None]:
    """With an indexer that runs, or without."""
    if not runs:
        yield None
        return
    async with running(configured) as indexer:
        yield indexer


with_and_without = pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])


@with_and_without
async def test_letters_are_listed_newest_first(configured: Settings, runs: bool) -> None:
    """All, or those of an account or for a reason; and how many there are beyond the limit."""
    did = "did:plc:abcdefghijklmnopqrstuvwx"
    late = DeadLetter(
        START + timedelta(seconds=9), RELAY, None, did, "The rev lies in the FUTURE", b"\xff" * 9
    )
    keep(configured, letter(1, b"one"), letter(2, b"two"), late)

    async with either(configured, runs):
        newest = await dead_letters.list_letters(configured, ALL, 2)
        of_one = await dead_letters.list_letters(configured, LetterFilter(did=did), 9)
        by_reason = await dead_letters.list_letters(configured, LetterFilter(reason="future"), 9)

    assert (newest.total, [one.seq for one in newest.letters]) == (3, [None, 2])
    assert newest.letters[0].received_at == START + timedelta(seconds=9)
    assert newest.letters[0].bytes == 9
    assert of_one == by_reason
    assert of_one.total == 1


@with_and_without
async def test_a_letter_is_found_by_its_name(configured: Settings, runs: bool) -> None:
    """Or by the beginning of it; the bytes are as they came."""
    kept = letter(1, b"\x00\xffraw")
    keep(configured, kept, letter(2, b"other"))

    async with either(configured, runs):
        name = (await dead_letters.list_letters(configured, ALL, 9)).letters[1].name
        found = await dead_letters.find_letter(configured, name[:6].upper())
        nothing = [
            await dead_letters.find_letter(configured, odd) for odd in ("zz", "a/b", "?limit=1", "é %")
        ]

    assert len(name) == 10
    assert found == kept
    assert nothing == [None] * 4


@with_and_without
@pytest.mark.slow
async def test_what_can_be_used_now_is_taken_in_and_gone(
    configured: Settings, ana: ForgedRepo, runs: bool
) -> None:
    """What cannot stays; progress is told, and the cursor of the relay stays where it is."""
    keep(configured, letter(1, b"hopeless"), letter(7, a_good_frame(ana)))
    told: list[tuple[int, int]] = []

    async with either(configured, runs):
        outcome = await operations.replay_letters(configured, ALL, lambda done, of: told.append((done, of)))
        left = await dead_letters.list_letters(configured, ALL, 9)

    assert (outcome.tried, outcome.passed) == (2, 1)
    assert told[0] == (0, 2)
    assert told[-1] == (2, 2)
    assert [one.seq for one in left.letters] == [1]
    async with running(configured) as indexer:
        await indexer.reach(0)
        assert indexer.rows("select count(*) from tracks where state = 'live'") == [(1,)]
        assert indexer.indexer.pipeline.finished is None


async def test_only_those_that_are_wanted_are_tried(configured: Settings, ana: ForgedRepo) -> None:
    """A reason chooses, as in the list."""
    keep(configured, letter(7, a_good_frame(ana)), letter(8, b"x", "truncated"))

    outcome = await operations.replay_letters(configured, LetterFilter(reason="truncated"), lambda *_: None)

    assert (outcome.tried, outcome.passed, outcome.total) == (1, 0, 1)
    assert (await dead_letters.list_letters(configured, ALL, 9)).total == 2


async def test_many_are_tried_in_pages(configured: Settings) -> None:
    """Each once, also those of one instant."""
    together = [DeadLetter(START, RELAY, number, None, "no", b"%d" % number) for number in range(PAGE + 5)]
    keep(configured, *together, *(letter(number, b"-%d" % number) for number in range(1, PAGE)))

    outcome = await operations.replay_letters(configured, ALL, lambda *_: None)

    assert (outcome.tried, outcome.passed) == (2 * PAGE + 4, 0)
    assert (await dead_letters.list_letters(configured, ALL, 1)).total == 2 * PAGE + 4


async def test_without_a_catalogue_there_is_a_sentence(tmp_path: Path) -> None:
    """Looking makes none."""
    with pytest.raises(StoreError, match="holds no catalogue"):
        await dead_letters.list_letters(Settings(data_dir=tmp_path), ALL, 9)

    assert list(tmp_path.iterdir()) == []
