"""Repos come in step again after whatever happened to them, and nothing that is said of them gets lost."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import repeat

import pytest
from aiohttp import web

from indexer import service
from indexer.catalog.writing.batch import Batch, BatchResult
from indexer.network.http import throttle
from indexer.repo import extract
from indexer.sync.spool import Spool
from schemas.backoff import Backoff
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import Running, following, until
from tests.indexer.test_pipeline import TRACK, frames_of, track
from tests.network import forge
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Refuse, Relay

ED25519 = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"


@pytest.fixture
def recent_repo(forged_network: ForgedNetwork) -> ForgedRepo:
    """Somebody's repo, which the network knows."""
    repo = ForgedRepo(seed="resynced", start=datetime.now(UTC) - timedelta(minutes=30))
    forged_network.add(repo)
    return repo


def unreadable(repo: ForgedRepo, seq: int, title: str) -> bytes:
    """A commit that reaches us broken, so that only a fetch tells what it said."""
    repo.create(TRACK, track(title))
    return repo.commit_frame(seq, blocks=b"")


@asynccontextmanager
async def turned_away(
    settings: Settings, world: ForgedNetwork, repo: ForgedRepo
) -> AsyncIterator[tuple[Relay, Running]]:
    """An indexer that has one song of somebody whom their server then turns away."""
    async with Relay(frames_of(repo, 1)) as relay, following(settings, relay) as indexer:
        await indexer.reach(1)
        world.status[repo.did] = "deactivated"
        yield relay, indexer


def titles(indexer: Running) -> list[str]:
    return [title for (title,) in indexer.rows("select title from visible_tracks order by title")]


@pytest.mark.parametrize("key", ["", ED25519])
async def test_a_document_without_a_usable_key_stops_nobody(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo, key: str
) -> None:
    """Its commits wait; with a key again they are taken over."""
    first, second = frames_of(recent_repo, 2)
    async with Relay([first]) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        forged_network.keys[recent_repo.did] = key
        await relay.send(recent_repo.identity_frame(2), second)
        await until(lambda: indexer.rows("from repos where state = 'error'"))
        await until(lambda: indexer.rows("select count(*) from waiting_commits") == [(1,)])
        del forged_network.keys[recent_repo.did]
        await relay.send(recent_repo.identity_frame(3))

        await until(lambda: titles(indexer) == ["Song 1", "Song 2"])


@pytest.mark.parametrize("status", [403, 500])
async def test_a_directory_that_refuses_is_asked_again(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo, status: int
) -> None:
    forged_network.faults["document"] = iter([Refuse(status)] * 3)
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)

        assert titles(indexer) == ["Song 1"]


async def test_a_resync_that_lacked_the_identity_is_tried_as_soon_as_it_is_known(
    indexer_settings: Settings,
    forged_network: ForgedNetwork,
    recent_repo: ForgedRepo,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not after its own pause, which grows while the directory is down."""
    monkeypatch.setattr(service, "RESYNC_BACKOFF", Backoff(3600, 3600))
    forged_network.faults["document"] = iter([Refuse(503)])
    async with Relay(frames_of(recent_repo, 1)) as relay, following(indexer_settings, relay) as indexer:
        await until(lambda: titles(indexer) == ["Song 1"])


async def test_what_a_server_refuses_is_hidden_until_it_gives_it_again(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Whatever else goes wrong in between."""
    async with turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer):
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await until(lambda: titles(indexer) == [])
        forged_network.faults["getRecord"] = repeat(Refuse(503))
        await until(lambda: "503" in (indexer.indexer.repos[recent_repo.did].reason or ""))
        forged_network.faults.clear()
        forged_network.status.clear()
        await indexer.reach(2)

        await until(lambda: titles(indexer) == ["Song 1", "Unread"])


async def test_whoever_moved_unheard_is_found_at_their_new_server(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """The old one only says that they are not there; the directory is asked where they are."""
    async with (
        ForgedNetwork([recent_repo]) as elsewhere,
        turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer),
    ):
        forged_network.homes[recent_repo.did] = elsewhere.url
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await indexer.reach(2)

        assert titles(indexer) == ["Song 1", "Unread"]
        assert indexer.rows("select pds from accounts") == [(elsewhere.url,)]


async def test_a_server_may_change_its_mind_within_one_batch(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """What it said last counts."""
    slow = impatient_settings.model_copy(update={"batch_seconds": 0.5})
    async with turned_away(slow, forged_network, recent_repo) as (relay, indexer):
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await until(lambda: "deactivated" in (indexer.indexer.repos[recent_repo.did].reason or ""))
        forged_network.status.clear()
        await indexer.reach(2)

        assert titles(indexer) == ["Song 1", "Unread"]


async def test_who_is_away_is_asked_for_again_when_they_are_back(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """And not before: there may be many who never return."""
    async with turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer):
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await until(lambda: indexer.rows("from accounts where refusal = 'deactivated'"))
        await relay.send(recent_repo.account_frame(3, "deactivated", time=datetime.now(UTC)))
        await until(lambda: not len(indexer.indexer._resyncs) and not indexer.indexer._resyncs._running)
        forged_network.status.clear()
        await relay.send(recent_repo.account_frame(4, "active", time=datetime.now(UTC)))

        await until(lambda: titles(indexer) == ["Song 1", "Unread"])


async def test_a_commit_of_somebody_who_was_away_has_their_repo_fetched(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Whether or not they are said to be back: to be in step is not to be shown."""
    async with turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer):
        await relay.send(recent_repo.account_frame(2, "deactivated", time=datetime.now(UTC)))
        await relay.send(unreadable(recent_repo, 3, "Unread"))
        await until(lambda: indexer.indexer.repos[recent_repo.did].state == "pending")
        forged_network.status.clear()
        await relay.send(*frames_of(recent_repo, 1, first=4))
        await indexer.reach(4)

        assert indexer.rows("select count(*) from tracks where state = 'live'") == [(3,)]
        assert titles(indexer) == []


async def test_a_server_cannot_undo_what_the_relay_says(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    async with turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer):
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await until(lambda: titles(indexer) == [])
        await relay.send(recent_repo.account_frame(3, "takendown", time=datetime.now(UTC)))
        forged_network.status.clear()
        await indexer.reach(3)

        assert indexer.rows("select status, refusal from accounts") == [("takendown", None)]
        assert titles(indexer) == []


@pytest.mark.parametrize("said", ["active", "deleted"])
@pytest.mark.slow
async def test_a_deleted_account_that_is_back_has_its_records(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo, said: str
) -> None:
    """Its records were removed; that its server gives them again counts, whatever the relay says of it."""
    async with Relay(frames_of(recent_repo, 2)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(2)
        forged_network.status[recent_repo.did] = "deleted"
        await relay.send(recent_repo.account_frame(3, "deleted", time=datetime.now(UTC)))
        await until(lambda: indexer.rows("from tracks") == [])
        forged_network.status.clear()
        await relay.send(recent_repo.account_frame(4, said, time=datetime.now(UTC)))
        await indexer.reach(4)

        await until(lambda: titles(indexer) == ["Song 1", "Song 2"])


async def test_a_relay_that_calls_an_account_deleted_is_not_believed(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Its records are hidden until its server can be asked, and shown when that has them still."""
    async with Relay(frames_of(recent_repo, 2)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(2)
        forged_network.faults |= {method: repeat(Refuse(503)) for method in ("getRecord", "getRepo")}
        await relay.send(recent_repo.account_frame(3, "deleted", time=datetime.now(UTC)))
        await until(lambda: titles(indexer) == [])
        await until(lambda: indexer.rows("from repos where state = 'error'"))
        assert indexer.rows("select count(*) from tracks") == [(2,)]
        forged_network.faults.clear()

        await until(lambda: titles(indexer) == ["Song 1", "Song 2"])


async def test_of_a_deleted_account_without_a_did_document_nothing_is_kept(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """There is no server left that could know better than the relay."""
    async with Relay(frames_of(recent_repo, 2)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(2)
        forged_network.faults["document"] = repeat(Refuse(410))
        await relay.send(recent_repo.account_frame(3, "deleted", time=datetime.now(UTC)))

        await until(lambda: indexer.rows("from tracks") == [])


async def test_nobody_can_speak_for_tomorrow(impatient_settings: Settings, recent_repo: ForgedRepo) -> None:
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        await relay.send(recent_repo.account_frame(2, "deactivated", time=datetime(2200, 1, 1, tzinfo=UTC)))
        await indexer.reach(2)
        await relay.send(recent_repo.account_frame(3, "active", time=datetime.now(UTC)))
        await indexer.reach(3)

        assert indexer.rows("select status from accounts") == [("active",)]


async def test_an_account_that_is_not_active_is_hidden_whatever_the_reason(
    impatient_settings: Settings, recent_repo: ForgedRepo
) -> None:
    said = {"seq": 2, "did": recent_repo.did, "time": "2026-01-01T00:00:00.000Z", "active": False}
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        await relay.send(forge.frame("#account", said))
        await indexer.reach(2)

        assert titles(indexer) == []


async def test_a_lost_reactivation_is_found_when_events_were_lost(
    impatient_settings: Settings, recent_repo: ForgedRepo
) -> None:
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        await relay.send(recent_repo.account_frame(2, "deactivated", time=datetime.now(UTC)))
        await indexer.reach(2)
        relay.statuses[recent_repo.did] = "active"
        await relay.send(forge.info_frame("OutdatedCursor"))

        await until(lambda: titles(indexer) == ["Song 1"])


async def test_a_kill_does_not_end_the_search_for_what_was_lost(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """The lists are read by then, the repos not yet compared."""
    lists = web.get("/xrpc/com.atproto.sync.listReposByCollection", _no_repos)
    async with Relay(frames_of(recent_repo, 1), routes=[lists]) as relay:
        async with following(impatient_settings, relay, drift_seconds=60) as indexer:
            await indexer.reach(1)
            await until(lambda: indexer.indexer.upkeep.discovery.reading is None)
            unreadable(recent_repo, 2, "Lost")
            await relay.send(forge.info_frame("OutdatedCursor"))
            await until(lambda: forged_network.asked["getLatestCommit"])
            await until(lambda: indexer.indexer.upkeep.discovery.reading is None)
        relay.frames.pop()
        async with following(impatient_settings, relay) as indexer:
            await until(lambda: titles(indexer) == ["Lost", "Song 1"])


async def test_what_is_lost_before_a_stream_begins_anew_is_found(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """The relay does not know the cursor, and says no more of what it has forgotten until we are back."""
    stranger = ForgedRepo(seed="stranger")
    stranger.create("net.example.thing", {})
    async with (
        Relay(frames_of(recent_repo, 1, first=50)) as relay,
        following(impatient_settings, relay) as indexer,
    ):
        await indexer.reach(50)
        relay.frames.clear()
        await relay.disconnect(1012)
        await until(
            lambda: indexer.rows("from discoveries where source = 'ours' and finished_at is not null")
        )
        unreadable(recent_repo, 1, "Lost")
        await relay.send(stranger.commit_frame(2))

        await until(lambda: titles(indexer) == ["Lost", "Song 50"])


async def _no_repos(_: web.Request) -> web.Response:
    return web.json_response({"repos": []})


async def test_what_is_lost_between_two_relays_is_found(
    impatient_settings: Settings, recent_repo: ForgedRepo
) -> None:
    """The numbers of one say nothing to another: all that is known is compared when it begins."""
    first, *_ = frames_of(recent_repo, 3)
    async with Relay([first]) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        assert titles(indexer) == ["Song 1"]
    stranger = ForgedRepo(seed="stranger", start=recent_repo.now)
    stranger.create("app.bsky.feed.post", {"text": "hi"})
    async with Relay([stranger.commit_frame(70)]) as relay, following(impatient_settings, relay) as indexer:
        await until(lambda: titles(indexer) == ["Song 1", "Song 2", "Song 3"])


async def test_whoever_comes_back_unheard_has_their_name_again(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Servers do not answer for the handle of somebody who is away."""
    async with turned_away(impatient_settings, forged_network, recent_repo) as (relay, indexer):
        away = recent_repo.account_frame(2, "deactivated", time=datetime.now(UTC))
        await relay.send(away, recent_repo.identity_frame(3))
        await until(lambda: indexer.rows("select handle from accounts") == [("handle.invalid",)])
        forged_network.status.clear()
        relay.statuses[recent_repo.did] = "active"
        await indexer.indexer.upkeep._statuses.check_all()

        await until(
            lambda: indexer.rows("select handle from accounts") == [(forged_network.handle(recent_repo.did),)]
        )


async def test_whoever_is_renamed_without_a_word_has_the_new_name_once_the_old_one_is_old(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """As when a handle lapses: of that there is no event."""
    async with (
        Relay(frames_of(recent_repo, 1)) as relay,
        following(impatient_settings, relay, identity_seconds=1) as indexer,
    ):
        await until(
            lambda: indexer.rows("select handle from accounts") == [(forged_network.handle(recent_repo.did),)]
        )
        forged_network.handles[recent_repo.did] = "renamed.test"

        await until(lambda: indexer.rows("select handle from accounts") == [("renamed.test",)])


async def test_a_repo_that_is_not_in_step_yet_when_events_are_lost_is_fetched(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Its commits would chain, and nobody would miss the last one."""
    first, _ = frames_of(recent_repo, 2)
    forged_network.faults["document"] = repeat(Refuse(503))
    async with Relay([first]) as relay, following(impatient_settings, relay) as indexer:
        await until(lambda: indexer.rows("from repos"))
        await relay.send(forge.info_frame("OutdatedCursor"))
        await until(lambda: indexer.rows("from repos where must_fetch"))
        forged_network.faults.clear()
        await indexer.reach(1)

        assert titles(indexer) == ["Song 1", "Song 2"]


async def test_an_account_hidden_just_before_events_are_lost_is_asked_about(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """The event that shows it again may be among the lost ones."""
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        relay.statuses[recent_repo.did] = "active"
        await relay.send(recent_repo.account_frame(2, "takendown"), forge.info_frame("OutdatedCursor"))
        await indexer.reach(2)

        await until(lambda: titles(indexer) == ["Song 1"])
        assert indexer.rows("select status from accounts") == [("active",)]


async def test_a_repo_that_cannot_be_fetched_goes_on_showing_what_proves_itself(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    _, second, third = frames_of(recent_repo, 3)
    forged_network.faults["getRecord"] = repeat(Refuse(503))
    async with Relay([second]) as relay, following(impatient_settings, relay) as indexer:
        await until(lambda: titles(indexer) == ["Song 2"])
        await relay.send(third)
        await until(lambda: titles(indexer) == ["Song 2", "Song 3"])
        forged_network.faults.clear()
        await indexer.reach(3)

        assert titles(indexer) == ["Song 1", "Song 2", "Song 3"]


async def test_a_server_that_went_back_is_asked_again_with_patience(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    """Restored from a backup, it shows less than is known, until the account writes something new."""
    patient = impatient_settings.model_copy(update={"retry_seconds": None})
    async with Relay(frames_of(recent_repo, 2)) as relay, following(patient, relay) as indexer:
        await indexer.reach(2)
        restored = ForgedRepo(seed="resynced", start=recent_repo.now - timedelta(minutes=5))
        [_] = frames_of(restored, 1)
        forged_network.add(restored)
        fetched = forged_network.asked["getRepo"]
        await relay.send(restored.commit_frame(3, blocks=b""))
        await until(lambda: indexer.indexer.repos[recent_repo.did].state == "desynchronized")

        assert "older state" in (indexer.indexer.repos[recent_repo.did].reason or "")
        assert forged_network.asked["getRepo"] == fetched + 1
        assert titles(indexer) == ["Song 1", "Song 2"]

        restored.now = recent_repo.now
        await relay.send(*frames_of(restored, 1, first=4))
        await indexer.reach(4)
        assert titles(indexer) == ["Song 1", "Song 4"]
        assert indexer.rows("select count(*) from waiting_commits") == [(0,)]


async def test_what_is_written_while_a_fetch_waits_for_its_turn_is_not_of_the_future(
    impatient_settings: Settings,
    forged_network: ForgedNetwork,
    recent_repo: ForgedRepo,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long the line at the server is."""
    monkeypatch.setattr(extract, "MAX_AHEAD", timedelta(0))
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        async with AsyncExitStack() as line:
            for _ in range(throttle.LANES_OF_OUR_OWN):
                await line.enter_async_context(indexer.indexer._hosts.turn(forged_network.url))
            await relay.send(unreadable(recent_repo, 2, "Unread"))
            mending = indexer.indexer.repos[recent_repo.did]
            await until(lambda: mending.state == "resyncing" and not mending.fetch)
            recent_repo.create(TRACK, track("Late"))
            recent_repo.commit_frame(3, time=datetime.now(UTC))
        await indexer.reach(2)

        assert titles(indexer) == ["Late", "Song 1", "Unread"]
        assert forged_network.asked["getRecord"] == 1


async def test_a_disk_that_was_full_for_a_moment_is_tried_again(
    impatient_settings: Settings,
    forged_network: ForgedNetwork,
    recent_repo: ForgedRepo,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forged_network.missing.add("getBlocks")
    _, second = frames_of(recent_repo, 2)
    with monkeypatch.context() as full:
        full.setattr(Spool, "write", _no_room)
        async with Relay([second]) as relay, following(impatient_settings, relay) as indexer:
            await until(lambda: indexer.rows("from repos where state = 'error'"))
            full.undo()
            await indexer.reach(2)

            assert titles(indexer) == ["Song 1", "Song 2"]


def _no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_an_unreadable_commit_is_not_forgotten_while_the_directory_is_down(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        forged_network.faults["document"] = repeat(Refuse(503))
        await relay.send(recent_repo.identity_frame(2), *frames_of(recent_repo, 1, first=3))
        await until(lambda: indexer.rows("from repos where state = 'error'"))
        await relay.send(unreadable(recent_repo, 4, "Unread"))
        await until(lambda: (indexer.indexer.pipeline.finished or 0) >= 4)
        forged_network.faults.clear()
        await indexer.reach(4)

        assert titles(indexer) == ["Song 1", "Song 3", "Unread"]


@pytest.mark.slow
async def test_what_came_during_a_fetch_is_not_forgotten_by_a_crash_right_after_it(
    impatient_settings: Settings, recent_repo: ForgedRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, fetched, go_on = service.fetch.fetch_repo, asyncio.Event(), asyncio.Event()

    async def slow(*args: object, **fields: object) -> object:
        found = await fetch(*args, **fields)  # type: ignore[arg-type]
        fetched.set()
        await go_on.wait()
        return found

    async with Relay(frames_of(recent_repo, 1)) as relay:
        with pytest.raises(Crash):  # noqa: PT012 - the crash comes in the middle of it
            async with following(impatient_settings, relay) as indexer:
                await indexer.reach(1)
                monkeypatch.setattr(service.fetch, "fetch_repo", slow)
                await relay.send(unreadable(recent_repo, 2, "Before"))
                await fetched.wait()
                await relay.send(unreadable(recent_repo, 3, "Meanwhile"))
                await until(lambda: (indexer.indexer.pipeline.finished or 0) >= 3)
                indexer.indexer._intake.written = _crash_after_a_mend
                go_on.set()
                await asyncio.sleep(5)
        monkeypatch.setattr(service.fetch, "fetch_repo", fetch)
        async with following(impatient_settings, relay) as indexer:
            await indexer.reach(3)

            assert titles(indexer) == ["Before", "Meanwhile", "Song 1"]


async def test_a_doubt_is_settled_by_the_fetch_that_began_after_it(
    impatient_settings: Settings, recent_repo: ForgedRepo
) -> None:
    """Also when both are written together."""
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        intake, applier = indexer.indexer._intake, indexer.indexer.pipeline._applier
        written = intake.written

        def doubt_once(batch: Batch, told: BatchResult) -> None:
            if batch.resyncs:
                intake.written = written
                applier.happened(
                    "doubt", recent_repo.did, intake.batch, "something was said while this was written"
                )
            written(batch, told)

        intake.written = doubt_once
        await relay.send(unreadable(recent_repo, 2, "Unread"))
        await indexer.reach(2)

        assert indexer.rows("select state, must_fetch from repos") == [("active", False)]


class Crash(Exception):
    pass


def _crash_after_a_mend(batch: Batch, _: BatchResult) -> None:
    if batch.resyncs:
        raise Crash


async def test_a_flood_of_identity_events_does_not_become_a_flood_of_questions(
    impatient_settings: Settings, forged_network: ForgedNetwork, recent_repo: ForgedRepo
) -> None:
    async with Relay(frames_of(recent_repo, 1)) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        for seq in range(2, 52):
            await relay.send(recent_repo.identity_frame(seq))
            await asyncio.sleep(0.01)
        await until(lambda: (indexer.indexer.pipeline.finished or 0) >= 51)

        assert (
            forged_network.asked["document"] < 25
        )  # of fifty; how many exactly is a matter of how long they took


async def test_records_of_others_in_the_same_repo_do_not_matter(
    impatient_settings: Settings, recent_repo: ForgedRepo
) -> None:
    """Their commits move the chain, and nothing else."""
    frames = frames_of(recent_repo, 1)
    for seq in (2, 3):
        recent_repo.create("app.bsky.feed.post", {"text": "hello"})
        frames.append(recent_repo.commit_frame(seq))
    recent_repo.create("fm.svc.like", documents.least("like"))
    frames.append(recent_repo.commit_frame(4))
    async with Relay(frames) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(4)

        assert indexer.rows("select verified from likes") == [("commit",)]
        assert indexer.rows("select state, rev from repos") == [("active", recent_repo.rev)]
