"""While PostgreSQL is away, strangers read on, and accounts are told to try again."""

import asyncio
from pathlib import Path

from readapi.state.state import open_state
from tests.patience import PATIENCE_SECONDS
from tests.postgres import new_database, running_postgres
from tests.readapi.music import Music, Reply, playing
from tests.readapi.state.people import account

SENTENCE = "The service cannot look up accounts at the moment; try again in a few seconds."
REFUSAL = {"detail": "state_unavailable", "message": SENTENCE}


async def test_accounts_are_told_to_try_again_while_the_state_is_away(tmp_path: Path) -> None:
    """With 503, in each protocol's form and on pages; and when it is back, nobody has to sign in again."""
    with running_postgres() as postgres:
        url = await new_database(postgres.address, "state")
        async with playing(tmp_path, state_url=url) as music:
            async with open_state(music.settings) as state:
                known, session = [await state.sessions.begin(await account(state)) for _ in range(2)]
            login = {"Authorization": f"Bearer {session}"}
            used = {"Authorization": f"Bearer {known}"}
            assert (await music.get("/preferences/", **used)).status == 200

            await asyncio.to_thread(postgres.stop)
            strangers = [await music.get(path) for path in ("/tracks/", "/search/?q=harbour", "/stats")]
            signed_in = [
                await music.get("/preferences/", **used),
                await music.get("/tracks/", **login),
                await music.send("DELETE", "/auth/sessions", **login),
            ]
            page = await music.client.get(
                f"{music.address}/settings",
                headers={"Cookie": f"session_id={session}", "Accept": "text/html"},
            )

            assert [reply.status for reply in strangers] == [200] * 3
            for reply in signed_in:
                assert (reply.status, reply.headers["Retry-After"], reply.json) == (503, "5", REFUSAL)
            assert (page.status, page.headers["Retry-After"]) == (503, "5")
            assert SENTENCE in await page.text()

            await asyncio.to_thread(postgres.start)
            assert (await answered(music, "/preferences/", **login)).json["scrobbling"] is False


async def answered(music: Music, path: str, **headers: str) -> Reply:
    """The first answer that is not 503."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (reply := await music.get(path, **headers)).status == 503:  # noqa: ASYNC110  # the server sets no event
            await asyncio.sleep(0.05)
    return reply
