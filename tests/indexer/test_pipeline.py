"""Frames become rows and documents, once each, in spite of restarts, broken input and slow helpers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer import service
from indexer.batch import Batch, Written
from indexer.catalogue import StoreError
from indexer.errands import Errands, Patience
from indexer.events import Frame
from indexer.follower import Follower
from indexer.handles import Handles
from indexer.identity import Resolver
from indexer.intake import Intake
from indexer.names import Dns
from indexer.outbound import Outbound
from indexer.pipeline import Pipeline
from indexer.sources import Status
from indexer.sources.firehose import Firehose
from indexer.sources.recorded import Recorder
from indexer.tracked import Tracked
from schemas.collections import Collections
from schemas.ids import Did
from schemas.settings import Settings
from tests import documents
from tests.indexer.changes import START
from tests.indexer.running import QUICK, Running, running, until
from tests.network import doubles, forge
from tests.network.doubles import Pages, document
from tests.network.forge import ForgedRepo
from tests.network.relay import Close, Cut, Relay

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
async def directory() -> AsyncIterator[Pages]:
    async with Pages() as pages:
        yield pages


@pytest.fixture
def configured(tmp_path: Path, directory: Pages) -> Settings:
    return Settings(
        data_dir=tmp_path,
        plc_url=directory.origin,
        handle_resolver=directory.origin,
        allow_loopback=True,
        batch_seconds=0.02,
        snapshot_seconds=60,
        parquet_seconds=0,
    )


@asynccontextmanager
async def following(configured: Settings, relay: Relay, **changes: object) -> AsyncIterator[Running]:
    async with running(configured.model_copy(update={"relay": relay.url, **changes})) as indexer:
        yield indexer


async def test_a_record_is_stored_changed_and_deleted(configured: Settings) -> None:
    repo = ForgedRepo()
    kept, gone = repo.create(TRACK, track("First")), repo.create(TRACK, track("Gone"))
    frames = [repo.commit_frame(1)]
    repo.update(TRACK, kept.rkey, track("Second"))
    repo.delete(TRACK, gone.rkey)
    frames.append(repo.commit_frame(2))
    async with Relay(frames) as relay, following(configured, relay) as indexer:
        await indexer.reach(2)

        assert indexer.rows("select uri, title, state from tracks order by rkey") == [
            (kept.uri, "Second", "live"),
            (gone.uri, None, "deleted"),
        ]


async def test_a_stopped_indexer_goes_on_where_it_was(configured: Settings) -> None:
    """The relay is asked for what follows the committed cursor, and nothing else."""
    repo = ForgedRepo()
    async with Relay(frames_of(repo, 5)) as relay:
        async with following(configured, relay) as indexer:
            await indexer.reach(5)
        await relay.send(*frames_of(repo, 5, first=6))
        async with following(configured, relay) as indexer:
            await indexer.reach(10)

            assert relay.cursors == [0, 5]
            assert indexer.rows("select count(*) from tracks") == [(10,)]


async def test_stopping_commits_what_was_read(configured: Settings) -> None:
    """Even when the batch was not due for a long time."""
    async with Relay(frames_of(ForgedRepo(), 3)) as relay:
        async with following(configured, relay, batch_seconds=60.0, batch_rows=1000) as indexer:
            await until(lambda: indexer.indexer.pipeline.events["Commit"] == 3)
        async with following(configured, relay) as indexer:
            assert indexer.rows("select count(*) from tracks") == [(3,)]
            assert indexer.indexer.pipeline.finished == 3


async def test_broken_connections_lose_and_double_nothing(configured: Settings) -> None:
    faults = [Cut(after=3), Close(1011, after=2), Close(1000, after=4), Cut(after=0)]
    relay = Relay(frames_of(ForgedRepo(), 30), faults=faults)
    async with relay, following(configured, relay) as indexer:
        await indexer.reach(30)

        assert indexer.rows("select count(*), count(distinct uri) from tracks") == [(30, 30)]
        assert (await indexer.ask("/health"))["source"]["connected"]


async def test_an_account_event_right_behind_its_first_record_is_obeyed(configured: Settings) -> None:
    """The account is not in the catalogue yet when the event is decoded."""
    repo = ForgedRepo()
    frames = [*frames_of(repo, 1), repo.account_frame(2, "deactivated"), repo.identity_frame(3)]
    async with Relay(frames) as relay, following(configured, relay, batch_seconds=0.5) as indexer:
        await indexer.reach(3)

        assert indexer.rows("select status from accounts") == [("deactivated",)]
        assert indexer.rows("select count(*) from visible_tracks") == [(0,)]


async def test_malformed_frames_are_kept_and_passed(configured: Settings) -> None:
    repo = ForgedRepo()
    good = frames_of(repo, 2)
    repo.create(TRACK, track("Lost"))
    no_blocks = repo.commit_frame(3, blocks=b"")
    frames = [good[0], b"\xff\xff", no_blocks, good[1], b"", forge.info_frame()]
    async with Relay(frames) as relay, following(configured, relay) as indexer:
        await indexer.reach(2)
        await until(lambda: indexer.indexer.pipeline.events["Info"])

        assert indexer.rows("select count(*) from tracks") == [(2,)]
        assert indexer.rows("select reason, raw from dead_letters order by seq limit 1")[0][1] == no_blocks
        assert (await indexer.ask("/health"))["dead_letters"] == 3


async def test_frames_of_others_move_the_cursor(configured: Settings) -> None:
    """With nothing of ours on the wire the cursor follows within about a second."""
    repo = ForgedRepo()
    repo.create("app.bsky.feed.post", {"text": "hello"})
    async with Relay([repo.commit_frame(41)]) as relay, following(configured, relay) as indexer:
        await indexer.reach(41)

        assert indexer.rows("select seq from cursors") == [(41,)]


async def test_a_handle_is_looked_up_and_an_identity_event_looks_again(
    configured: Settings, directory: Pages
) -> None:
    repo = ForgedRepo()
    for handle in ("old.test", "new.test"):
        ask = f"/xrpc/com.atproto.identity.resolveHandle?handle={handle}"
        directory.answers[ask] = (200, b'{"did": "%s"}' % repo.did.encode())
    directory.answers[f"/{repo.did}"] = (200, document(repo.did, alsoKnownAs=["at://old.test"]))
    async with Relay(frames_of(repo, 1)) as relay, following(configured, relay) as indexer:
        await until(lambda: indexer.rows("select 1 from accounts where handle = 'old.test' and not stale"))
        directory.answers[f"/{repo.did}"] = (200, document(repo.did, alsoKnownAs=["at://new.test"]))
        await relay.send(repo.identity_frame(2))

        await until(lambda: indexer.rows("select 1 from accounts where handle = 'new.test' and not stale"))


async def test_a_handle_that_cannot_be_checked_stays_as_it_was(
    configured: Settings, directory: Pages
) -> None:
    """The server's address is taken over all the same, and the identity goes on wanting to be resolved."""
    repo = ForgedRepo()
    ask = "/xrpc/com.atproto.identity.resolveHandle?handle=ana.test"
    directory.answers[ask] = (200, b'{"did": "%s"}' % repo.did.encode())
    directory.answers[f"/{repo.did}"] = (200, document(repo.did, alsoKnownAs=["at://ana.test"]))
    async with Relay(frames_of(repo, 1)) as relay, following(configured, relay) as indexer:
        await until(lambda: indexer.rows("select 1 from accounts where handle = 'ana.test'"))
        moved = document(
            repo.did, alsoKnownAs=["at://ana.test"], service=doubles.service("https://new.example.com")
        )
        directory.answers |= {f"/{repo.did}": (200, moved), ask: (503, b"")}
        await relay.send(repo.identity_frame(2))

        await until(lambda: indexer.rows("select 1 from accounts where pds = 'https://new.example.com'"))

        assert indexer.rows("select handle, stale from accounts") == [("ana.test", True)]


async def test_a_directory_that_is_down_holds_nothing_up(configured: Settings, directory: Pages) -> None:
    directory.delay_seconds = 60
    async with Relay(frames_of(ForgedRepo(), 20)) as relay, following(configured, relay) as indexer:
        await indexer.reach(20)

        assert indexer.rows("select handle, stale from accounts") == [(None, True)]


async def test_identities_left_open_are_taken_up_at_the_next_start(
    configured: Settings, directory: Pages
) -> None:
    repo = ForgedRepo()
    directory.delay_seconds = 60
    async with Relay(frames_of(repo, 1)) as relay:
        async with following(configured, relay) as indexer:
            await indexer.reach(1)
        directory.delay_seconds = 0
        directory.answers[f"/{repo.did}"] = (200, document(repo.did, alsoKnownAs=[]))
        async with following(configured, relay) as indexer:
            await until(lambda: indexer.rows("select 1 from accounts where not stale and pds is not null"))


async def test_a_store_that_is_at_fault_stops_the_indexer(configured: Settings) -> None:
    async with Relay(frames_of(ForgedRepo(), 1)) as relay, aiohttp.ClientSession() as session:
        source = Firehose(relay.url, session, start="oldest", backoff=QUICK)
        async with service.opened(configured, source) as indexer:
            indexer.stores.index.close()

            with pytest.raises(StoreError, match="search index"):
                async with asyncio.timeout(10):
                    await indexer.run(asyncio.Event())


async def test_a_second_indexer_is_refused(configured: Settings) -> None:
    async with Relay() as relay, following(configured, relay):
        with pytest.raises(StoreError):
            async with following(configured, relay):
                pass


async def test_a_recording_is_taken_in_and_the_relays_cursor_stays(
    configured: Settings, tmp_path: Path
) -> None:
    """What only the relay has must not be skipped because a file went further."""
    repo = ForgedRepo()
    frames = frames_of(repo, 20)
    async with Relay(frames[:5]) as relay:
        async with following(configured, relay) as indexer:
            await indexer.reach(5)
        with Recorder(tmp_path / "frames", relay.url) as recorder:
            for raw in frames:
                recorder.write(Frame(relay.url, raw, START))
        counts: list[int] = []
        await service.replay(configured, tmp_path / "frames", counts.append)
        async with following(configured, relay) as indexer:
            assert indexer.rows("select count(*) from tracks") == [(20,)]
            assert indexer.indexer.pipeline.finished == 5
            assert counts[-1] == 20


class Script:
    """A source that yields these frames and waits for the test in between."""

    name = "script"

    def __init__(self, frames: list[bytes]) -> None:
        self.status = Status(connected=True)
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kinds=st.lists(st.sampled_from(["ours", "other", "account", "broken"]), max_size=40),
    batch_rows=st.integers(1, 8),
    pauses=st.lists(st.sampled_from([0, 1, 3]), min_size=1, max_size=10),
)
def test_the_cursor_never_passes_unwritten_work(kinds: list[str], batch_rows: int, pauses: list[int]) -> None:
    """After every transaction: all that the frames up to its cursor asked for is in it or an earlier one."""
    frames = mixed_frames(kinds)

    batches = asyncio.run(_collect(frames, batch_rows, pauses))

    stored: set[str] = set()
    for batch in batches:
        stored |= {f"ours {change.rev}" for change in batch.changes}
        stored |= {f"account {event.seq}" for event in batch.accounts}
        stored |= {f"broken {letter.seq}" for letter in batch.dead_letters}
        mark = batch.cursors.get("script")
        if mark is not None:
            assert len(stored) == sum(kind != "other" for kind in _known(kinds)[: mark.seq])
    if frames:
        assert batches[-1].cursors["script"].seq == len(frames)


def _known(kinds: list[str]) -> list[str]:
    """Events of an account count from its first record on."""
    first = kinds.index("ours") if "ours" in kinds else len(kinds)
    return ["other" if kind == "account" and at < first else kind for at, kind in enumerate(kinds)]


async def _collect(frames: list[bytes], batch_rows: int, pauses: list[int]) -> list[Batch]:
    """The batches in the order of their transactions, written at an uneven pace."""
    batches: list[Batch] = []
    known: set[Did] = set()

    async def write(batch: Batch) -> Written:
        for _ in range(pauses[len(batches) % len(pauses)]):
            await asyncio.sleep(0)
        batches.append(batch)
        known.update(change.did for change in batch.changes)
        return Written(len(batch), 0, 0, 0, 0, (), ())

    async def nothing(*_: object) -> int:
        return 0

    async with Outbound(Dns()) as outbound:
        intake = Intake(write, batch_rows=batch_rows, batch_seconds=0.001, buffer_bytes=1 << 20)
        pipeline = Pipeline(
            Script(frames),
            Collections().all,
            Tracked(known),
            cursor=None,
            intake=intake,
            resolver=Resolver(outbound, Handles(outbound, Dns()), plc_url="https://plc.example.com"),
            identities=Errands("identity", nothing, workers=1, patience=Patience()),
            pictures=Errands("picture", nothing, workers=1, patience=Patience()),
            follower=Follower(nothing, nothing, watermark=0, op=0),
        )
        writing = asyncio.create_task(intake.run())
        await pipeline.read()
        intake.close()
        await writing
    return batches
