"""Frames become rows and documents, once each, in spite of restarts, broken input and slow helpers."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer import operations, service
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.catalog.writing.intake import Intake
from indexer.events import Frame
from indexer.faults import StoreError
from indexer.network.retry_queue import RetryQueue
from indexer.network.websockets import WebSocketClient
from indexer.pipeline import Pipeline
from indexer.repo import extract
from indexer.search.follower import Follower
from indexer.stream import Status
from indexer.stream.decode import decode_frame
from indexer.stream.firehose import Firehose
from indexer.stream.recording import Recorder
from indexer.sync.apply_event import EventApplier
from indexer.sync.states import Repos
from schemas.backoff import Backoff
from schemas.collections import Collections
from schemas.settings import Settings
from tests import documents
from tests.indexer.changes import START
from tests.indexer.running import QUICK, following, until
from tests.network import forge
from tests.network.forge import ForgedRepo, SigningKey
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Close, Cut, Refuse, Relay
from tests.patience import PATIENCE_SECONDS

TRACK, LIKE, PROFILE = "fm.svc.track", "fm.svc.like", "fm.svc.actor.profile"


def track(title: str) -> dict[str, object]:
    return documents.least("track") | {"title": title}


def frames_of(repo: ForgedRepo, count: int, first: int = 1) -> list[bytes]:
    made = []
    for seq in range(first, first + count):
        repo.create(TRACK, track(f"Song {seq}"))
        made.append(repo.commit_frame(seq))
    return made


@pytest.fixture
def hosted_repo(forged_network: ForgedNetwork) -> ForgedRepo:
    """Somebody's repo, which the network knows."""
    repo = ForgedRepo()
    forged_network.add(repo)
    return repo


async def test_a_record_is_stored_changed_and_deleted(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    kept, gone = hosted_repo.create(TRACK, track("First")), hosted_repo.create(TRACK, track("Gone"))
    frames = [hosted_repo.commit_frame(1)]
    hosted_repo.update(TRACK, kept.rkey, track("Second"))
    hosted_repo.delete(TRACK, gone.rkey)
    frames.append(hosted_repo.commit_frame(2))
    async with Relay(frames) as relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(2)

        assert indexer.rows("select uri, title, state from tracks order by rkey") == [
            (kept.uri, "Second", "live"),
            (gone.uri, None, "deleted"),
        ]


async def test_a_stopped_indexer_goes_on_where_it_was(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    """The relay is asked for what follows the committed cursor, and nothing else."""
    async with Relay(frames_of(hosted_repo, 5)) as relay:
        async with following(indexer_settings, relay) as indexer:
            await indexer.reach(5)
        await relay.send(*frames_of(hosted_repo, 5, first=6))
        async with following(indexer_settings, relay) as indexer:
            await indexer.reach(10)

            assert relay.cursors == [0, 5]
            assert indexer.rows("select count(*) from tracks") == [(10,)]


async def test_a_clock_that_is_fast_does_not_say_how_far_a_source_was_followed(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    """Another source goes on at that time, and would leave out what came in between."""
    hosted_repo.create("app.bsky.feed.post", {"text": "hi"})
    tomorrow = hosted_repo.commit_frame(1, time=datetime.now(UTC) + timedelta(days=1))
    async with Relay([tomorrow]) as relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(1)

        assert indexer.indexer.stores.writer.followed_until() <= datetime.now(UTC)


async def test_stopping_commits_what_was_read(indexer_settings: Settings, hosted_repo: ForgedRepo) -> None:
    """Even when the batch was not due for a long time."""
    async with Relay(frames_of(hosted_repo, 3)) as relay:
        async with following(indexer_settings, relay, batch_seconds=60.0, batch_rows=1000) as indexer:
            await until(lambda: indexer.indexer.pipeline.events["Commit"] == 3)
        async with following(indexer_settings, relay) as indexer:
            assert indexer.indexer.pipeline.finished == 3
            await indexer.reach(3)
            assert indexer.rows("select count(*) from tracks") == [(3,)]


async def test_broken_connections_lose_and_double_nothing(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    faults = [Cut(after=3), Close(1011, after=2), Close(1000, after=4), Cut(after=0)]
    relay = Relay(frames_of(hosted_repo, 30), faults=faults)
    async with relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(30)

        assert indexer.rows("select count(*), count(distinct uri) from tracks") == [(30, 30)]
        assert (await indexer.ask("/health"))["source"]["connected"]


async def test_an_account_event_right_behind_its_first_record_is_obeyed(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    """The account is not in the catalogue yet when the event is decoded."""
    frames = [
        *frames_of(hosted_repo, 1),
        hosted_repo.account_frame(2, "deactivated"),
        hosted_repo.identity_frame(3),
    ]
    async with Relay(frames) as relay, following(indexer_settings, relay, batch_seconds=0.5) as indexer:
        await indexer.reach(3)

        assert indexer.rows("select status from accounts") == [("deactivated",)]
        assert indexer.rows("select count(*) from visible_tracks") == [(0,)]


async def test_malformed_frames_are_kept_and_what_they_said_is_fetched(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    good = frames_of(hosted_repo, 2)
    hosted_repo.create(TRACK, track("Lost"))
    no_blocks = hosted_repo.commit_frame(3, blocks=b"")
    frames = [good[0], b"\xff\xff", no_blocks, good[1], b"", forge.info_frame()]
    async with Relay(frames) as relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(2)
        await until(lambda: indexer.indexer.pipeline.events["Info"])

        await until(lambda: indexer.rows("from tracks where title = 'Lost' and verified = 'repo'"))
        assert indexer.rows("select count(*) from tracks") == [(3,)]
        assert indexer.rows("select reason, raw from dead_letters order by seq limit 1")[0][1] == no_blocks
        assert (await indexer.ask("/health"))["dead_letters"] == 3


async def test_frames_of_others_move_the_cursor(indexer_settings: Settings, hosted_repo: ForgedRepo) -> None:
    """With nothing of ours on the wire the cursor follows within about a second."""
    hosted_repo.create("app.bsky.feed.post", {"text": "hello"})
    async with Relay([hosted_repo.commit_frame(41)]) as relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(41)

        assert indexer.rows("select seq from cursors") == [(41,)]


async def test_every_frame_of_others_is_counted(indexer_settings: Settings, hosted_repo: ForgedRepo) -> None:
    """Those too that were only glanced at; and what its author does around a record of ours is not lost."""
    strange, frames = ForgedRepo(seed="strange"), []
    for seq in range(1, 101):
        author = hosted_repo if seq > 50 and seq % 10 < 3 else strange
        author.create(TRACK if seq in (51, 71) else "app.bsky.feed.post", track("Song"))
        frames.append(author.commit_frame(seq))
    async with Relay(frames) as relay, following(indexer_settings, relay) as indexer:
        await indexer.reach(100)

        assert dict(indexer.indexer.pipeline.events) == {"Passed": 85, "Commit": 15}
        assert indexer.rows("select seq from cursors") == [(100,)]
        assert indexer.rows("select count(*) from tracks") == [(2,)]


async def test_a_handle_is_looked_up_and_an_identity_event_looks_again(
    indexer_settings: Settings, forged_network: ForgedNetwork, hosted_repo: ForgedRepo
) -> None:
    forged_network.handles[hosted_repo.did] = "old.test"
    async with Relay(frames_of(hosted_repo, 1)) as relay, following(indexer_settings, relay) as indexer:
        await until(lambda: indexer.rows("select 1 from accounts where handle = 'old.test' and not stale"))
        forged_network.handles[hosted_repo.did] = "new.test"
        await relay.send(hosted_repo.identity_frame(2))

        await until(lambda: indexer.rows("select 1 from accounts where handle = 'new.test' and not stale"))


async def test_the_handle_of_an_account_that_comes_back_is_looked_up_again(
    indexer_settings: Settings, forged_network: ForgedNetwork, hosted_repo: ForgedRepo
) -> None:
    """Its server does not answer for it while it is away, and says nothing of its name when it returns."""
    forged_network.handles[hosted_repo.did] = "ana.test"
    async with Relay(frames_of(hosted_repo, 1)) as relay, following(indexer_settings, relay) as indexer:
        await until(lambda: indexer.rows("from accounts where handle = 'ana.test'"))
        forged_network.status[hosted_repo.did] = "takendown"
        await relay.send(hosted_repo.account_frame(2, "takendown"), hosted_repo.identity_frame(3))
        await until(lambda: indexer.rows("from accounts where handle = 'handle.invalid' and not stale"))
        forged_network.status.clear()
        await relay.send(hosted_repo.account_frame(4, "active"))

        await until(lambda: indexer.rows("from accounts where handle = 'ana.test' and not stale"))


async def test_a_handle_that_cannot_be_checked_stays_as_it_was(
    indexer_settings: Settings, forged_network: ForgedNetwork, hosted_repo: ForgedRepo
) -> None:
    """The key is taken over all the same, and the identity goes on wanting to be resolved."""
    forged_network.handles[hosted_repo.did] = "ana.test"
    async with Relay(frames_of(hosted_repo, 1)) as relay, following(indexer_settings, relay) as indexer:
        await until(lambda: indexer.rows("select 1 from accounts where handle = 'ana.test'"))
        forged_network.keys[hosted_repo.did] = SigningKey("another").multibase
        forged_network.faults["resolveHandle"] = repeat(Refuse(503))
        await relay.send(hosted_repo.identity_frame(2))

        await until(
            lambda: indexer.rows(
                f"from accounts where signing_key = '{forged_network.keys[hosted_repo.did]}'"
            )
        )

        assert indexer.rows("select handle, stale from accounts") == [("ana.test", True)]


async def test_commits_wait_while_the_directory_is_down_and_the_cursor_moves_on(
    indexer_settings: Settings, forged_network: ForgedNetwork, hosted_repo: ForgedRepo
) -> None:
    """Without a key nothing can be verified. A restart in between loses none of them."""
    forged_network.faults["document"] = repeat(Refuse(503))
    async with Relay(frames_of(hosted_repo, 20)) as relay:
        async with following(indexer_settings, relay) as indexer:
            await indexer.reach(20, in_step=False)
            await until(lambda: indexer.rows("from repos where state = 'error'"))

            assert indexer.rows("select count(*) from waiting_commits") == [(20,)]
            assert indexer.rows("select count(*) from tracks") == [(0,)]
        forged_network.faults.clear()
        async with following(indexer_settings, relay) as indexer:
            await indexer.reach(20)

            assert indexer.rows("select count(*) from tracks") == [(20,)]
            assert indexer.rows("select count(*) from waiting_commits") == [(0,)]


async def test_a_repo_that_is_too_large_is_shown_commit_by_commit(
    indexer_settings: Settings,
    forged_network: ForgedNetwork,
    hosted_repo: ForgedRepo,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not fetched again soon, because each time would cost as much."""
    monkeypatch.setattr(extract, "MAX_RECORDS", 2)
    frames = frames_of(hosted_repo, 5)
    async with Relay([frames[3]]) as relay, following(indexer_settings, relay, retry_seconds=0.02) as indexer:
        await until(lambda: indexer.rows("from tracks where title = 'Song 4'"))
        await relay.send(frames[4])
        await until(lambda: indexer.rows("from tracks where title = 'Song 5'"))
        await asyncio.sleep(0.2)

        assert forged_network.asked["getRepo"] == 1
        assert indexer.rows("select state, reason from repos") == [
            ("error", "the repo has more than 2 records of ours")
        ]


async def test_a_store_that_is_at_fault_stops_the_indexer(
    indexer_settings: Settings, hosted_repo: ForgedRepo
) -> None:
    async with Relay(frames_of(hosted_repo, 1)) as relay:
        source = Firehose(relay.url, WebSocketClient(), start="oldest", backoff=QUICK)
        async with service.open_indexer(indexer_settings, source) as indexer:
            indexer.stores.index.close()

            with pytest.raises(StoreError, match="search index"):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await indexer.run(asyncio.Event())


async def test_a_second_indexer_is_refused(indexer_settings: Settings) -> None:
    async with Relay() as relay, following(indexer_settings, relay):
        with pytest.raises(StoreError):
            async with following(indexer_settings, relay):
                pass


@pytest.mark.slow
async def test_a_recording_is_taken_in_and_the_relays_cursor_stays(
    indexer_settings: Settings, tmp_path: Path, hosted_repo: ForgedRepo
) -> None:
    """What only the relay has must not be skipped because a file went further."""
    frames = frames_of(hosted_repo, 20)
    async with Relay(frames[:5]) as relay:
        async with following(indexer_settings, relay) as indexer:
            await indexer.reach(5)
        with Recorder(tmp_path / "frames", relay.url) as recorder:
            for raw in frames:
                recorder.write(Frame(relay.url, raw, START))
        counts: list[int] = []
        await operations.replay_recording(indexer_settings, tmp_path / "frames", counts.append)
        async with following(indexer_settings, relay) as indexer:
            assert indexer.rows("select count(*) from tracks") == [(20,)]
            assert indexer.indexer.pipeline.finished == 5
            assert counts[-1] == 20


class Script:
    """A source that yields these frames and waits for the test in between."""

    name = "script"

    def __init__(self, frames: list[bytes]) -> None:
        self.status = Status(connected=True)
        self.decode = decode_frame
        self.finished = lambda: None
        self._frames = frames

    async def frames(self, after: int | None) -> AsyncIterator[Frame]:
        for raw in self._frames:
            yield Frame(self.name, raw, START)
            await asyncio.sleep(0)


def mixed_frames(kinds: list[str]) -> list[bytes]:
    """One frame of each kind, numbered from 1."""
    repo = ForgedRepo(minimal=True)
    made = []
    for seq, kind in enumerate(kinds, 1):
        match kind:
            case "ours":
                repo.create(LIKE, documents.least("like"))
                made.append(repo.commit_frame(seq))
            case "other":
                repo.create("app.bsky.feed.post", {})
                made.append(repo.commit_frame(seq))
            case "account":
                made.append(repo.account_frame(seq))
            case "broken":
                repo.create(LIKE, documents.least("like"))
                made.append(repo.commit_frame(seq, blocks=b""))
    return made


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kinds=st.lists(st.sampled_from(["ours", "other", "account", "broken"]), max_size=40),
    batch_rows=st.integers(1, 8),
    pauses=st.lists(st.sampled_from([0, 1, 3]), min_size=1, max_size=10),
)
def test_the_cursor_never_passes_unwritten_work(kinds: list[str], batch_rows: int, pauses: list[int]) -> None:
    """After every transaction: all that the frames up to its cursor asked for is in it or an earlier one."""
    frames = mixed_frames(kinds)

    batches = asyncio.run(_collect(frames, batch_rows, pauses))

    stored: set[int | None] = set()
    for batch in batches:
        stored |= {commit.seq for commit in batch.waiting}
        stored |= {event.seq for event in batch.accounts}
        stored |= {letter.seq for letter in batch.dead_letters}
        mark = batch.cursors.get("script")
        if mark is not None:
            assert stored == {seq for seq in _concerning(kinds) if seq <= mark.seq}
    if frames:
        assert batches[-1].cursors["script"].seq == len(frames)


def _concerning(kinds: list[str]) -> list[int]:
    """The frames that say something: of an account, all from its first that touches a record of ours."""
    first = next((at for at, kind in enumerate(kinds) if kind in ("ours", "broken")), len(kinds))
    return list(range(first + 1, len(kinds) + 1))


async def _collect(frames: list[bytes], batch_rows: int, pauses: list[int]) -> list[Batch]:
    """The batches in the order of their transactions, written at an uneven pace."""
    batches: list[Batch] = []
    repos, ours = Repos(), Collections().all

    async def write(batch: Batch) -> BatchResult:
        for _ in range(pauses[len(batches) % len(pauses)]):
            await asyncio.sleep(0)
        batches.append(batch)
        return BatchResult(len(batch), 0, 0, 0, 0, (), ())

    async def nothing(*_: object) -> int:
        return 0

    intake = Intake(write, batch_rows=batch_rows, batch_seconds=0.001, buffer_bytes=1 << 20)
    pipeline = Pipeline(
        Script(frames),
        ours,
        repos,
        cursor=None,
        intake=intake,
        identities=RetryQueue("identity", nothing, workers=1, backoff=Backoff()),
        pictures=RetryQueue("picture", nothing, workers=1, backoff=Backoff()),
        follower=Follower(nothing, nothing, watermark=0, op=0),
        applier=EventApplier(
            repos, ours, ask=lambda dids: None, doubt=lambda did: None, forget=lambda did: None
        ),
        gap=lambda: None,
    )
    writing = asyncio.create_task(intake.run())
    await pipeline.read()
    intake.close()
    await writing
    return batches
