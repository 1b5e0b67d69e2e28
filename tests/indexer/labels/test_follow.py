"""The operator's labels, which the API keeps in the state database, are followed into the catalogue."""

from datetime import timedelta

from readapi.state.label_decisions import NewLabel
from readapi.state.state import open_state
from schemas.settings import Settings
from tests.empty_states import EmptyStates
from tests.indexer.changes import did, uri
from tests.indexer.running import following, until
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
        soon = state.database.now() + timedelta(seconds=1)
        for subject, value, expires in ((TRACK, "copyright", None), (did("ben"), "spam", soon)):
            await state.label_decisions.decide(NewLabel(subject, value, False, expires, "Why.", "eve"))
        await until(lambda: len(indexer.rows(stands)) == 2)
        await until(lambda: indexer.rows(stands) == [(TRACK, "copyright")])
        await state.label_decisions.decide(NewLabel(TRACK, "copyright", True, None, "Why not.", "eve"))
        await until(lambda: indexer.rows(stands) == [])
