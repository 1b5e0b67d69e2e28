"""Migrations make the tables that the code speaks of, however many processes make them at once."""

import asyncio
import json
import os
import sys

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text, update

from readapi.state.db.database import SCRIPTS
from readapi.state.db.migrate import migrate_database
from readapi.state.db.publishing_tables import preferences
from readapi.state.db.tables import metadata
from readapi.state.migrations.versions import v0010_codes_of_recordings, v0021_show_playing
from readapi.state.publishing.preferences import Preferences
from readapi.state.state import State, open_state
from schemas.rights import Ownership
from schemas.settings import Settings
from tests.readapi.state.people import BEN, MARA, account
from tests.readapi.state.publishing.made import ALBUM, OWNER_ONLY


async def test_the_schema_after_all_steps_is_that_of_the_tables(state: State) -> None:
    """Nothing is missing, nothing too many, no type differs."""

    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with state.database.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_codes_of_recordings_are_forgotten_of_people(state: State) -> None:
    """Owner and parties stay; of whom nothing else was saved, no template attaches rights any more."""
    attaching = OWNER_ONLY.model_copy(update={"attach_rights": True})
    owner = Ownership.model_validate({"masterOwner": {"name": "Tide Records"}})
    for did, rights in (
        (MARA, {"isrc": "USRC17607839"}),
        (BEN, {"iswc": "T-1", **owner.model_dump(exclude_none=True)}),
    ):
        await state.preferences.change(did, lambda _: Preferences(attaching, scrobbling=True))
        async with state.database.writing() as connection:
            await connection.execute(
                update(preferences).where(preferences.c.did == did).values(rights=json.dumps(rights))
            )
    await state.album_templates.put(ALBUM, attaching)

    def step(connection: Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            v0010_codes_of_recordings.upgrade()

    async with state.database.writing() as connection:
        await connection.run_sync(step)

    assert await state.preferences.of(MARA) == Preferences(OWNER_ONLY, scrobbling=True, rights=None)
    assert await state.preferences.of(BEN) == Preferences(attaching, scrobbling=True, rights=owner)
    assert await state.album_templates.get(ALBUM) == OWNER_ONLY


async def test_who_had_scrobbling_on_goes_on_being_shown(state: State) -> None:
    """Both were one choice; who had it off is shown to nobody."""
    await state.preferences.change(MARA, lambda _: Preferences(scrobbling=True))
    await state.preferences.change(BEN, lambda _: Preferences(show_adult=True, show_playing=True))

    def step(connection: Connection) -> None:
        connection.execute(text("alter table preferences drop column show_playing"))
        with Operations.context(MigrationContext.configure(connection)):
            v0021_show_playing.upgrade()

    async with state.database.writing() as connection:
        await connection.run_sync(step)

    assert await state.preferences.of(MARA) == Preferences(scrobbling=True, show_playing=True)
    assert await state.preferences.of(BEN) == Preferences(show_adult=True)


async def test_migrating_again_changes_nothing(state: State, state_settings: Settings) -> None:
    """What was kept is still there."""
    kept = await account(state)

    revision = await migrate_database(state.database)

    assert revision == state.revision
    async with open_state(state_settings) as again:
        assert await again.grants.find(kept.grant_id) is not None


@pytest.mark.slow
async def test_a_start_with_nothing_to_migrate_does_not_import_alembic(state: State) -> None:
    """With what it imports itself, alembic would be a seventh of every start."""
    script = (
        "import asyncio, sys\n"
        "from readapi.state.db.database import Database\n"
        "from readapi.state.db.migrate import migrate_database\n"
        "from sqlalchemy import make_url\n"
        "print(asyncio.run(migrate_database(Database(make_url(sys.argv[1])))), 'alembic' in sys.modules)\n"
    )
    url = state.database.engine.url.render_as_string(hide_password=False)

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, url, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()

    assert said.decode() == f"{state.revision} False\n"


@pytest.mark.slow
async def test_processes_that_start_together_migrate_once(unmigrated_settings: Settings) -> None:
    """All of them end well, with the same schema, and one of them made the key."""
    variables = {"FMSVC_DATA_DIR": str(unmigrated_settings.data_dir)}
    if unmigrated_settings.state_url is not None:
        variables["FMSVC_STATE_URL"] = unmigrated_settings.state_url

    async def start() -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "readapi", "migrate"),
            env={**os.environ, **variables},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await process.communicate()
        return process.returncode, said.decode()

    ended = await asyncio.gather(*(start() for _ in range(3)))

    newest = max(path.name[1:5] for path in (SCRIPTS / "versions").glob("v*.py"))
    said = f"The state database has schema {newest}; 0 grants were encrypted again.\n"
    assert ended == [(0, said)] * 3
