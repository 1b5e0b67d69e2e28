"""Originals outlive the state database: nothing is deleted that it did not release, itself, weeks ago."""

import asyncio
import itertools
import os
import random
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from readapi.audio.store import AudioStore
from readapi.publishing.originals.placement import MOVED
from readapi.publishing.originals.steady_clock import SteadyClock
from readapi.publishing.originals.sweep import OrphanSweep
from readapi.publishing.originals.trash import NotRestored
from readapi.state.publishing.file_keys import (
    IDENTITY,
    file_in,
    original_key,
    received_audio,
    received_image,
    rendition_key,
)
from readapi.state.publishing.stored_files import TRASH, Release
from readapi.state.state import State, open_state
from schemas.publishing import OPEN
from schemas.settings import Settings
from tests.readapi.audio.bucket import bucket_url
from tests.readapi.publishing.house import House, audio, of
from tests.readapi.state.people import HandClock
from tests.readapi.state.publishing.made import track

BUCKETS = itertools.count()
STRIDE = int(os.environ.get("CUSTODY_STRIDE", "6"))  # of the steps after which a crash is tried
GONE = Release("gone")


def new_store(request: pytest.FixtureRequest, kind: str, folder: Path) -> AudioStore:
    """An empty one."""
    if kind == "folder":
        return AudioStore.of(Settings(data_dir=folder))
    url = bucket_url(request.getfixturevalue("s3"), f"custody-{next(BUCKETS)}")
    return AudioStore.of(Settings(data_dir=folder, audio_url=url))


@pytest.fixture(params=["folder", "s3"])
def house(request: pytest.FixtureRequest, state: State, tmp_path: Path, clock: HandClock) -> House:
    """An empty state database of each kind, with an empty store of each kind."""
    return House(state, new_store(request, request.param, tmp_path), tmp_path, clock)


@pytest.fixture
def small(request: pytest.FixtureRequest, state: State, tmp_path: Path, clock: HandClock) -> House:
    """The same with a folder only, where the store makes no difference."""
    return House(state, new_store(request, "folder", tmp_path), tmp_path, clock)


async def refusal(house: House) -> str:
    return (await house.state.audio_store.find()).refusal or ""


@pytest.mark.slow
async def test_an_emptied_state_database_deletes_nothing(house: House) -> None:
    """It says why, counts what it does not know, and takes uploads as always."""
    await house.publish(1, "a")
    await house.restore({})

    with capture_logs() as logs:
        await house.months()
    await house.publish(2, "b")
    await house.originals.erase(track(2))
    await house.months()

    assert await house.files() == of("a", "b")
    assert "knows nothing of" in await refusal(house)
    assert [line for line in logs if line["event"] == "nothing in the audio store is deleted"]
    assert (await house.state.audio_store.find()).orphans in (2, 3, 4)


@pytest.mark.slow
async def test_another_services_state_database_deletes_nothing(house: House) -> None:
    """Not even a file that it released itself, in the store that it belongs to."""
    await house.publish(1, "a")
    mine = await house.backup()
    other_folder = house.folder / "other"
    async with open_state(Settings(data_dir=other_folder), house.clock) as state:
        other = House(state, AudioStore.of(Settings(data_dir=other_folder)), house.folder, house.clock)
        await other.publish(1, "a")
        await other.publish(2, "b")
        await other.originals.forget(track(1), GONE)
        theirs = await other.backup()

    await house.restore(theirs)
    await house.months()

    assert await house.files() == of("a")
    assert "belongs to another state database" in await refusal(house)

    await house.restore(mine)
    await house.originals.erase(track(1))
    assert await house.files() == set()


@pytest.mark.slow
async def test_an_older_copy_of_the_state_database_deletes_nothing(house: House) -> None:
    """Neither what it never heard of, nor what it had released, nor what it lets go of by itself later."""
    for number, letter in enumerate("abcd", 1):
        await house.publish(number, letter)
    await house.originals.forget(track(2), GONE)  # released before the backup, held again after it
    backup = await house.backup()
    await house.hold(track(2), "b")
    await house.hold(track(9), "c")  # needs a file of which the backup knows one track
    await house.publish(5, "e")
    await house.state.revisions.add(track(4), audio("d"), "managed", OPEN)

    await house.restore(backup)
    with capture_logs() as logs:
        await house.months()
    for number in (3, 4):
        await house.originals.erase(track(number))
    await house.months()

    assert await house.files() == of("a", "b", "c", "d", "e")
    assert any("older than the audio store" in line["event"] for line in logs)


@pytest.mark.slow
async def test_an_older_copy_deletes_again_what_came_after_it(small: House) -> None:
    """What is new is its own; what was there is so once somebody says that nothing is missing."""
    await small.publish(1, "a")
    backup = await small.backup()
    await small.publish(2, "b")
    await small.restore(backup)

    await small.publish(3, "c")
    await small.originals.erase(track(3))
    without_new = await small.files()
    await small.originals.pairing.adopt()
    await small.state.stored_files.own()
    await small.originals.erase(track(1))
    await small.months()

    assert without_new == of("a", "b")
    assert await small.files() == of("b")


@pytest.mark.slow
async def test_what_is_released_goes_after_weeks(house: House) -> None:
    """With a line in the log for each file; not a day earlier."""
    await house.publish(1, "a")
    await house.publish(2, "b")
    await house.originals.forget(track(1), GONE)

    await house.sweep(days=TRASH.days - 1)
    before = await house.files()
    with capture_logs() as logs:
        await house.sweep(days=1)

    assert before == of("a", "b")
    assert await house.files() == of("b")
    deleted = {line["key"]: line["reason"] for line in logs if line["event"] == "file deleted"}
    assert deleted == dict.fromkeys(of("a"), "gone")


@pytest.mark.slow
async def test_what_its_artist_deletes_goes_at_once(house: House) -> None:
    """With its earlier versions, and with what lay in the trash of it; what others need stays."""
    uri = await house.publish(1, "a")
    await house.publish(2, "b")
    await house.state.revisions.add(uri, audio("b"), "managed", OPEN)
    await house.publish(3, "c")
    await house.hold(uri, "d")  # "a" is replaced, and released
    await house.originals.forget(track(3), MOVED)

    await house.originals.erase(uri)

    assert await house.files() == of("b", "c")


@pytest.mark.parametrize("shared", ["before", "after"])
@pytest.mark.slow
async def test_deleting_a_track_keeps_what_another_track_may_have_back(house: House, shared: str) -> None:
    """Two tracks are the same file; one was let go of for four weeks, before or after the other had it."""
    uri = await house.publish(1, "a")
    held = await house.originals.find(uri)
    if shared == "before":
        await house.hold(track(2), "a")
    await house.originals.forget(uri, GONE)
    if shared == "after":
        await house.sweep(days=1)
        await house.hold(track(2), "a")

    await house.sweep(days=TRASH.days - 2)
    await house.originals.erase(track(2))
    kept = await house.files()
    told = await house.originals.trash.restore("a" * 64)
    restored = await house.originals.find(uri)
    await house.originals.erase(uri)

    assert kept == of("a")
    assert (told, restored) == (f"It is the original of {uri} again.", held)
    assert await house.files() == set(), "deleted by both"


async def test_a_file_goes_when_the_last_track_may_not_have_it_back(small: House) -> None:
    """Four weeks after the last that did not delete it; deleting another changes nothing about that."""
    for number in (1, 2, 3):
        await (small.publish(number, "a") if number == 1 else small.hold(track(number), "a"))
    await small.originals.forget(track(1), GONE)
    await small.sweep(days=3)
    await small.originals.forget(track(2), GONE)
    await small.originals.forget(track(3), GONE)
    await small.originals.erase(track(3))

    await small.sweep(days=TRASH.days - 1)
    before = await small.files()
    await small.originals.erase(track(2))
    await small.sweep(days=1)

    assert before == of("a")
    assert await small.files() == set()


async def test_two_that_let_go_at_once_release_the_file(small: House) -> None:
    """However their transactions overlap, the last one sees that it is the last."""
    await small.publish(1, "a")
    for number in range(2, 6):
        await small.hold(track(number), "a")

    await asyncio.gather(*(small.originals.forget(track(number), GONE) for number in range(1, 6)))
    await small.sweep(days=TRASH.days)

    assert await small.files() == set()


@pytest.mark.parametrize("as_version", [False, True])
async def test_a_released_file_can_be_restored(small: House, as_version: bool) -> None:
    """As what it was: a track's original, or one of its earlier versions."""
    uri = await small.publish(1, "a")
    held = await small.originals.find(uri)
    if as_version:
        await small.state.revisions.add(uri, audio("a"), "managed", OPEN)
        await small.hold(uri, "b")
        await small.state.revisions.remove(uri, GONE)
    else:
        await small.originals.forget(uri, GONE)
    listed = [one.file_id for one in await small.state.stored_files.in_trash(10)]

    told = await small.originals.trash.restore("a" * 64)
    await small.months()

    assert set(listed) == {"a" * 64}
    assert str(uri) in told
    if as_version:
        assert [one.audio for one in await small.state.revisions.of(uri)] == [audio("a")]
        assert original_key("a" * 64) in await small.files()
    else:
        assert await small.originals.find(uri) == held
        assert await small.files() == of("a")
    with pytest.raises(NotRestored):
        await small.originals.trash.restore("a" * 64)


async def test_a_rendition_alone_is_not_restored(small: House) -> None:
    """Its original is an earlier version, so nothing is lost: the refusal says so, and nothing changes."""
    uri = await small.publish(1, "a")
    await small.state.revisions.add(uri, audio("a"), "managed", OPEN)
    await small.hold(uri, "b")
    versions = await small.state.revisions.of(uri)
    in_trash = await small.state.stored_files.in_trash(10)

    with pytest.raises(NotRestored, match="only its rendition, which is made again"):
        await small.originals.trash.restore("a" * 64)

    assert [one.key for one in in_trash] == [rendition_key("a" * 64, "m4a")]
    assert await small.state.revisions.of(uri) == versions
    assert await small.state.stored_files.in_trash(10) == in_trash


@pytest.mark.slow
async def test_what_is_restored_while_its_time_ends_is_there(small: House) -> None:
    """Either it is refused, or the file stays: never does it go after somebody was told that they have it."""
    await small.publish(1, "a")
    await small.originals.forget(track(1), GONE)
    small.clock.forward(days=TRASH.days)
    delete, restoring = small.store.delete, []

    async def restored_just_before(key: str) -> None:
        other = House(small.state, small.store, small.folder, small.clock)
        restoring.append(asyncio.create_task(other.originals.trash.restore("a" * 64)))
        await asyncio.wait(restoring[-1:], timeout=0.5)
        await delete(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small.store, "delete", restored_just_before)
        await small.sweep()
    told = await asyncio.gather(*restoring, return_exceptions=True)

    assert told
    assert any(isinstance(one, str) for one in told) == (original_key("a" * 64) in await small.files())


@pytest.mark.parametrize("identity", [None, b"", b"{", b"[1]", b'{"store_id": null, "edition": 1}'])
@pytest.mark.slow
async def test_a_store_whose_identity_is_lost_can_be_adopted(small: House, identity: bytes | None) -> None:
    """Nothing is deleted until somebody says that the two belong together; from then on as always."""
    uri = await small.publish(1, "a")
    if identity is None:
        await small.store.delete(IDENTITY)
    else:
        await small.store.write(IDENTITY, identity)
    await small.months()
    await small.originals.erase(uri)
    before = await small.files()

    await small.originals.pairing.adopt()
    await small.state.stored_files.own()
    await small.publish(2, "b")
    await small.originals.erase(track(2))

    known = await small.state.audio_store.find()
    assert before == await small.files() == of("a")
    assert known.refusal is None
    assert known.store_id


async def test_another_services_store_can_be_adopted(small: House) -> None:
    """And one of which an emptied state database knows nothing."""
    await small.publish(1, "a")
    await small.restore({})
    refused = await small.originals.pairing.check()

    await small.originals.pairing.adopt()

    assert refused is not None
    assert await small.originals.pairing.check() is None


async def test_a_clock_that_is_set_wrongly_ends_no_grace(small: House) -> None:
    """A year ahead for some rounds, or when the process starts: the trash waits until the clock is steady."""
    await small.publish(1, "a")
    await small.originals.forget(track(1), GONE)
    seconds = 0.0
    steady = SteadyClock(small.clock, lambda: seconds)
    sweeping = OrphanSweep(
        small.state, small.store, small.originals, small.folder / "receiving", is_steady=steady
    )

    async def rounds(hours: int) -> None:
        nonlocal seconds
        for _ in range(hours):
            seconds += 3600
            small.clock.forward(hours=1)
            await sweeping.sweep()

    await rounds(12)
    small.clock.forward(days=365)
    await rounds(3)
    small.clock.forward(days=-365)
    await rounds(12)
    while_wrong = await small.files()
    small.clock.forward(days=TRASH.days)
    await rounds(7)

    assert while_wrong == of("a")
    assert await small.files() == set()


@pytest.mark.slow
async def test_what_never_was_acknowledged_goes_after_a_week(house: House) -> None:
    """Its row was written before the file; a file without one stays, and is counted."""
    await house.state.stored_files.expect(received_audio("broken"), received_image("broken"))
    await house.put(received_audio("broken"))
    waiting = await house.receive(1, "a")
    await house.put(received_audio("stranger"))

    await house.sweep(days=6)
    before = await house.files()
    await house.months()

    assert received_audio("broken") in before
    assert await house.files() == {received_audio(waiting), received_audio("stranger")}
    assert (await house.state.audio_store.find()).orphans == 1


async def test_a_store_from_before_there_were_identities_is_taken_for_its_own(small: House) -> None:
    """If the state database knows a file that is there; else it is another's."""
    await small.put(original_key("a" * 64))
    stranger = await small.originals.pairing.check()
    await small.hold(track(1), "a")
    own = await small.originals.pairing.check()

    assert "knows nothing of" in str(stranger)
    assert own is None


class Crash(BaseException):
    """The process ends here."""


class FragileStore(AudioStore):
    """Ends the process before the nth thing that it is told to do."""

    steps = 10**9

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Crash

    async def put(self, key: str, source: Path) -> None:
        self._step()
        await super().put(key, source)
        self._step()

    async def write(self, key: str, content: bytes) -> None:
        self._step()
        await super().write(key, content)
        self._step()

    async def move(self, key: str, target: str) -> None:
        self._step()
        await super().move(key, target)
        self._step()

    async def delete(self, key: str) -> None:
        self._step()
        await super().delete(key)
        self._step()


async def live(house: House) -> None:
    """Publish, replace, let go, delete, wait, and publish the same again."""
    await house.publish(1, "a")
    await house.publish(2, "b")
    await house.hold(track(1), "c")
    await house.originals.forget(track(2), GONE)
    await house.sweep(days=TRASH.days)
    await house.hold(track(3), "c")
    await house.originals.erase(track(1))


@pytest.mark.slow
async def test_a_crash_between_any_two_steps_loses_nothing_that_is_held(
    tmp_path: Path, clock: HandClock
) -> None:
    """And leaves nothing for ever that we put and nothing holds; nor is it taken for a restored backup."""
    for steps in range(random.randrange(STRIDE), 200, STRIDE):
        settings = Settings(data_dir=tmp_path / str(steps))
        fragile = FragileStore(*vars(AudioStore.of(settings)).values())
        fragile.steps = steps
        async with open_state(settings, clock) as state:
            house = House(state, fragile, tmp_path, clock)
            is_done = await ends(house)
            fragile.steps = 10**9
            house.anew()
            held = {one.file_id for uri in map(track, range(4)) if (one := await house.originals.find(uri))}
            waiting = await state.uploads.newest(track(1).did, 10)
            held_or_waiting = held | {one.wanted.audio.file_id for one in waiting if not one.is_settled}

            for _ in range(2):
                await house.sweep(days=30)

            files = {file_in(key) for key in await house.files() if not key.startswith("incoming")}
            assert held <= files <= held_or_waiting, steps
            assert (await state.audio_store.find()).restored_at is None, steps
        if is_done:
            return
    raise AssertionError("it never came to its end")


async def ends(house: House) -> bool:
    """Did it all happen?"""
    try:
        await live(house)
    except Crash:
        return False
    return True
