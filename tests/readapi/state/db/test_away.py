"""While PostgreSQL is away, strangers read what needs no state, and all others are told to try again."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from readapi.state.db import database
from readapi.state.db.away import DatabaseAway
from readapi.state.db.database import Database
from readapi.state.state import State, open_state
from schemas import data_folder
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.postgres import new_database, running_postgres
from tests.readapi.music import Music, Reply, playing
from tests.readapi.state.people import account

SENTENCE = "The service cannot look up accounts at the moment; try again in a few seconds."
REFUSAL = {"detail": "state_unavailable", "message": SENTENCE}


@pytest.mark.slow
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
            listening = await music.get("/playing-now")
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
            for reply in (listening, *signed_in):
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


async def test_a_damaged_file_is_no_state_that_comes_back(tmp_path: Path) -> None:
    """It is answered 500 and logged with its traceback, so that the operator hears of it."""
    async with playing(tmp_path) as music:
        async with open_state(music.settings) as state:
            session = await state.sessions.begin(await account(state))
        for end in ("", "-wal"):
            (tmp_path / f"{data_folder.STATE_DATABASE}{end}").write_bytes(b"junk" * 4096)

        with capture_logs() as logs:
            reply = await music.get("/preferences/", Authorization=f"Bearer {session}")
        opened = Database(database.database_url(music.settings))
        with pytest.raises(DBAPIError):  # also where the connection is new
            async with opened.reading() as connection:
                await connection.execute(text("select * from sessions"))
        await opened.close()

    assert reply.status == 500
    assert any(one["event"] == "request failed" and one["log_level"] == "error" for one in logs)


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_only_what_a_later_try_may_not_meet_is_away(state: State) -> None:
    """A refused connection; not a wrong name, a mistake in a statement, or a timeout of the block's own."""
    url = state.database.engine.url
    for wrong, raised in ((url.set(port=1), DatabaseAway), (url.set(database="another"), DBAPIError)):
        elsewhere = Database(wrong)
        for opening in (elsewhere.reading, elsewhere.writing):
            with pytest.raises(raised) as failed:
                async with opening():
                    pass
            assert isinstance(failed.value, DatabaseAway) == (raised is DatabaseAway)
        await elsewhere.close()

    for opening in (state.database.reading, state.database.writing):
        with pytest.raises(DBAPIError):
            async with opening() as connection:
                await connection.execute(text("select 1 / 0"))
        with pytest.raises(TimeoutError):
            async with opening():
                raise TimeoutError


@pytest.mark.parametrize("state_settings", ["postgresql"], indirect=True)
async def test_a_statement_without_an_answer_is_away(
    state_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver waits only for so long."""
    monkeypatch.setattr(database, "COMMAND_SECONDS", 0.2)
    slow = Database(database.database_url(state_settings))
    for opening in (slow.reading, slow.writing):
        with pytest.raises(DatabaseAway):
            async with opening() as connection:
                await connection.execute(text("select pg_sleep(5)"))
    await slow.close()


@pytest.mark.parametrize("state_settings", ["sqlite"], indirect=True)
async def test_a_busy_file_is_away(state_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes for longer than anybody waits."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    url = database.database_url(state_settings)
    first, second = Database(url), Database(url)
    async with first.writing():
        with pytest.raises(DatabaseAway):
            async with second.writing():
                pass
    await first.close()
    await second.close()
