"""A labeler is followed like the relay: verified, resumed from its cursor, and asked for what was lost."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event

import duckdb
import pytest

from schemas import data_folder
from schemas.settings import Settings
from tests.indexer.killing import children
from tests.indexer.running import Running, following, until
from tests.network import forge
from tests.network.forge import ForgedRepo, SigningKey, Written
from tests.network.forged_network import ForgedNetwork
from tests.network.labeler import Labeler, iso
from tests.network.relay import Cut, Relay, Send
from tests.patience import PATIENCE_SECONDS

KILLS = int(os.environ.get("KILLS", "2"))

VALUES = "select value from labels where state = 'stands' order by value"


@pytest.fixture(params=["k256", "p256"])
async def labeler(request: pytest.FixtureRequest) -> AsyncIterator[Labeler]:
    """A labeler with a key of either curve."""
    async with Labeler(request.param) as labeler:
        yield labeler


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay() as relay:
        yield relay


@pytest.fixture
def followed(impatient_settings: Settings, labeler: Labeler) -> Settings:
    """Settings of an indexer that follows the labeler."""
    return impatient_settings.model_copy(update={"labelers": (labeler.did,)})


ANA = forge.did_of("ana")
TRACK = f"at://{ANA}/fm.svc.track/3kznmn7xqxl22"
_TRACK = {"title": "Lua", "artist": "Ana", "fileType": "mp3", "createdAt": "2026-01-01T00:00:00Z"}


def values(indexer: Running) -> list[str]:
    """The labels that stand."""
    return [value for (value,) in indexer.rows(VALUES)]


async def test_labels_are_stored_once_and_forged_ones_kept_apart(
    followed: Settings, labeler: Labeler, relay: Relay
) -> None:
    """By their signature; what is about others' collections is not even looked at."""
    forged = labeler.make(TRACK, "!hide") | {"val": "!takedown"}
    strangers = labeler.make(f"at://{ANA}/app.bsky.feed.post/3k", "porn")
    another = labeler.make(TRACK, "gore", src=ANA)
    async with following(followed, relay) as indexer:
        await labeler.label(TRACK, "porn")
        await labeler.send(labeler.frame(forged, strangers, another, labeler.make(ANA, "spam")))
        await labeler.send(b"\xff\x00 no frame", forge.frame("#labels", {"seq": 90, "labels": 7}))
        await labeler.label(TRACK, "porn", neg=True)
        await labeler.send(labeler.frame(labeler.make(TRACK, "rock")))
        await until(lambda: values(indexer) == ["rock", "spam"])

        letters = indexer.rows("select reason from dead_letters order by 1")
    assert [reason.partition(" the key")[0] for (reason,) in letters] == [
        "labels is not a list of at most 1,000",
        "the frame is not DAG-CBOR",
        "the label is from another labeler",
        "the labeler's signature does not verify",
    ]


async def test_it_resumes_after_every_end_and_every_restart(
    followed: Settings, labeler: Labeler, relay: Relay
) -> None:
    """Nothing is lost, and nothing is read again that was committed."""
    labeler.faults = [Cut(after=2), Send(forge.error_frame("ConsumerTooSlow"))]
    for number in range(4):
        await labeler.label(TRACK, f"value-{number}")
    async with following(followed, relay) as indexer:
        await until(lambda: len(values(indexer)) == 4)
        await labeler.disconnect(1011)
        await labeler.label(TRACK, "value-4")
        await until(lambda: len(values(indexer)) == 5)
    assert labeler.cursors == [0, 2, 2, 4]

    await labeler.label(TRACK, "value-5")
    async with following(followed, relay) as indexer:
        await until(lambda: len(values(indexer)) == 6)
        assert indexer.rows("select count(*) from dead_letters") == [(0,)]
    assert labeler.cursors[-1] == 5


async def publish_track(relay: Relay, forged_network: ForgedNetwork) -> tuple[ForgedRepo, Written]:
    """A new account's repo, and its track, which the relay has sent."""
    ana = ForgedRepo(seed="ana")
    track = ana.create("fm.svc.track", {"$type": "fm.svc.track", **_TRACK})
    forged_network.add(ana)
    await relay.send(ana.commit_frame(1))
    return ana, track


@pytest.mark.slow
async def test_what_the_stream_has_lost_is_asked_for(
    followed: Settings, labeler: Labeler, relay: Relay, forged_network: ForgedNetwork
) -> None:
    """About the accounts that are known, page by page; negations that were missed too."""
    ana, track = await publish_track(relay, forged_network)
    async with following(followed, relay) as indexer:
        await indexer.reach(1)
        withdrawn = await labeler.label(track.uri, "porn")
        await until(lambda: values(indexer) == ["porn"])

    labeler.tell(withdrawn | {"neg": True})
    for number in range(5):
        labeler.tell(labeler.make(track.uri, f"value-{number}"))
    labeler.tell(labeler.make(ana.did, "spam"))
    labeler.tell(labeler.make(forge.did_of("stranger"), "spam"))
    old = labeler.make(ana.did, "old")
    labeler.tell(old)
    labeler.frames += [labeler.frame(old) for _ in range(3)]
    labeler.forget()
    async with following(followed, relay) as indexer:
        await until(lambda: "spam" in values(indexer))

        assert values(indexer) == ["old", "spam", *(f"value-{number}" for number in range(5))]
        assert labeler.queries == 3
        await until(
            lambda: (
                indexer.rows(f"select finished_at is null from discoveries where source = '{labeler.did}'")
                == [(False,)]
            )
        )


@pytest.mark.slow
async def test_what_the_stream_brings_during_a_question_is_not_withdrawn_by_its_answer(
    followed: Settings, labeler: Labeler, relay: Relay, forged_network: ForgedNetwork
) -> None:
    """Though the labeler's clock is months behind, and the answer was made before the label."""
    _, track = await publish_track(relay, forged_network)
    async with following(followed, relay) as indexer:
        await indexer.reach(1)
        labeler.tell(await labeler.label(track.uri, "lost") | {"neg": True})
        await until(lambda: values(indexer) == ["lost"])
    labeler.frames += [labeler.frame() for _ in range(3)]
    labeler.forget()
    async with following(followed, relay) as indexer:

        async def label_once() -> None:
            labeler.meanwhile = None
            await labeler.label(track.uri, "new")
            await until(lambda: values(indexer) == ["lost", "new"])

        labeler.meanwhile = label_once
        await until(lambda: "lost" not in values(indexer))

        assert values(indexer) == ["new"]
        assert labeler.queries == 1


async def test_a_new_key_is_looked_up_and_an_unknown_cursor_begins_anew(
    followed: Settings, labeler: Labeler, relay: Relay
) -> None:
    async with following(followed, relay) as indexer:
        await labeler.label(TRACK, "porn")
        await until(lambda: values(indexer) == ["porn"])
        await asyncio.sleep(0.06)  # an identity that was just resolved is not doubted
        labeler.key = SigningKey("another")
        await labeler.label(TRACK, "rock")
        await until(lambda: values(indexer) == ["porn", "rock"])
    labeler.frames.clear()
    labeler._seq = 0
    async with following(followed, relay) as indexer:
        await until(lambda: labeler.cursors[-1] == 0)
        await labeler.label(TRACK, "spam")
        await until(lambda: "spam" in values(indexer))


@pytest.mark.slow
async def test_labels_expire_and_a_labeler_that_is_no_longer_named_has_said_nothing(
    followed: Settings, labeler: Labeler, relay: Relay
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    async with following(followed, relay) as indexer:
        await labeler.label(ANA, "!hide", exp=iso(soon))
        await labeler.label(ANA, "spam")
        await until(lambda: values(indexer) == ["!hide", "spam"])
        await until(lambda: values(indexer) == ["spam"])
        assert datetime.now(UTC) >= soon
    async with following(followed, relay, labelers=()) as indexer:
        await until(lambda: values(indexer) == [])


@pytest.mark.slow
async def test_a_labeler_that_is_named_again_is_asked_for_all_at_once(
    followed: Settings, labeler: Labeler, relay: Relay, forged_network: ForgedNetwork
) -> None:
    """Its labels were withdrawn, and its stream goes on after them."""
    _, track = await publish_track(relay, forged_network)
    async with following(followed, relay) as indexer:
        await indexer.reach(1)
        await labeler.label(track.uri, "porn")
        await until(lambda: values(indexer) == ["porn"])
    async with following(followed, relay, labelers=()) as indexer:
        await until(lambda: values(indexer) == [])

    async with following(followed, relay) as indexer:
        await until(lambda: values(indexer) == ["porn"])


def follow(followed: Settings, at_work: Event) -> None:
    """Follow the labeler until killed."""

    async def run() -> None:
        async with Relay() as relay, following(followed, relay):
            at_work.set()
            await asyncio.Event().wait()

    asyncio.run(run())


@pytest.mark.parametrize("labeler", ["k256"], indirect=True)
async def test_a_kill_leaves_exactly_the_labels_up_to_the_cursor(
    followed: Settings, labeler: Labeler, relay: Relay
) -> None:
    """kill -9 at any instant: labels and cursor are committed together, and the rest follows."""
    dice, sent = random.Random(11), 0
    for _ in range(KILLS):
        at_work = children.Event()
        child = children.Process(target=follow, args=(followed, at_work))
        child.start()
        assert await asyncio.to_thread(at_work.wait, PATIENCE_SECONDS)
        for _ in range(dice.randint(50, 400)):
            sent += 1
            await labeler.label(f"at://{ANA}/fm.svc.track/r{sent}", "rock")
        child.kill()
        await asyncio.to_thread(child.join)
        with duckdb.connect(str(followed.data_dir / data_folder.CATALOGUE)) as catalogue:
            named = "select coalesce(max(seq), 0) from cursors where source = $source"
            [(cursor,)] = catalogue.execute(named, {"source": labeler.did}).fetchall()
            stored = catalogue.execute("select subject from labels").fetchall()
        expected = {f"at://{ANA}/fm.svc.track/r{number}" for number in range(1, cursor + 1)}
        assert {subject for (subject,) in stored} == expected
    async with following(followed, relay) as indexer:
        await until(lambda: len(values(indexer)) == sent)
        assert indexer.rows("select count(*) from dead_letters") == [(0,)]
    assert labeler.cursors == sorted(labeler.cursors)
