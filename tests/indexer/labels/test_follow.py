"""The operator's labels, which the API keeps in the state database, are followed into the catalogue."""

import asyncio
from datetime import timedelta

import duckdb
import pytest

from indexer.service import UNDECIDED
from readapi.state.label_decisions import NewLabel
from readapi.state.state import open_state
from schemas import data_folder
from schemas.settings import Settings
from tests.documents import least
from tests.empty_states import EmptyStates
from tests.indexer.changes import did, uri
from tests.indexer.running import following, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

TRACK = str(uri("mara", "track", 1))


async def test_the_indexer_follows_decisions_and_a_log_that_was_replaced(
    indexer_settings: Settings, empty_states: EmptyStates
) -> None:
    await empty_states.sqlite(indexer_settings.data_dir)
    stands = "select subject, value from labels where state = 'stands' order by all"
    async with (
        Relay() as relay,
        open_state(indexer_settings) as state,
        following(indexer_settings, relay) as indexer,
    ):
        soon = state.database.now() + timedelta(seconds=3)  # both are taken in before it expires
        for subject, value, expires in ((TRACK, "copyright", None), (did("ben"), "spam", soon)):
            await state.label_decisions.decide(NewLabel(subject, value, False, expires, "Why.", "eve"))
        await until(lambda: len(indexer.rows(stands)) == 2)
        await until(lambda: indexer.rows(stands) == [(TRACK, "copyright")])
        await state.label_decisions.decide(NewLabel(TRACK, "copyright", True, None, "Why not.", "eve"))
        await until(lambda: indexer.rows(stands) == [])


@pytest.mark.slow
async def test_a_new_index_is_shown_only_with_what_the_operator_decided(
    indexer_settings: Settings, empty_states: EmptyStates, forged_network: ForgedNetwork
) -> None:
    """While the state database is away it is filled; once it was shown, it goes on without."""
    ana = ForgedRepo(seed="ana")
    track = ana.create("fm.svc.track", least("track"))
    forged_network.add(ana)
    chosen = indexer_settings.model_copy(update={"snapshot_seconds": 0.01})
    newest = chosen.data_dir / data_folder.NEWEST_SNAPSHOT
    away = {"state_url": "postgresql://127.0.0.1:9/state"}
    await empty_states.sqlite(chosen.data_dir)
    async with Relay() as relay, open_state(chosen) as state:
        await relay.send(ana.commit_frame(1))
        await state.label_decisions.decide(NewLabel(str(track.uri), "!hide", False, None, "Why.", "eve"))
        await state.takedown_decisions.decide(did("ben"), "takedown", "Spam.", "eve")
        async with following(chosen, relay, **away) as indexer:
            await indexer.reach(1)
            await asyncio.sleep(0.5)
            assert indexer.rows("select count(*) from tracks") == [(1,)]
            assert not newest.exists()
            assert UNDECIDED in (await indexer.ask("/health"))["warnings"]
        async with following(chosen, relay) as indexer:
            await until(newest.exists)
            assert UNDECIDED not in (await indexer.ask("/health"))["warnings"]
            with duckdb.connect(newest.resolve(), read_only=True) as snapshot:
                assert snapshot.execute("select count(*) from visible_tracks").fetchall() == [(0,)]
                assert snapshot.execute("select count(*) from takedowns").fetchall() == [(1,)]
        first = newest.resolve()
        ana.create("fm.svc.track", least("track"))
        await relay.send(ana.commit_frame(2))
        async with following(chosen, relay, **away) as indexer:
            await indexer.reach(2)
            await until(lambda: newest.resolve() != first)
