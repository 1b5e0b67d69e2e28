"""Migrations make the tables that the code speaks of, however many processes make them at once."""

import asyncio
import os
import sys

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from readapi.state.migration import SCRIPTS, migrate
from readapi.state.state import State, open_state
from readapi.state.tables import metadata
from schemas.settings import Settings
from tests.readapi.state.people import account


async def test_the_schema_after_all_steps_is_that_of_the_tables(state: State) -> None:
    """Nothing is missing, nothing too many, no type differs."""

    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with state.database.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_again_changes_nothing(state: State, state_settings: Settings) -> None:
    """What was kept is still there."""
    kept = await account(state)

    revision = await migrate(state.database)

    assert revision == state.revision
    async with open_state(state_settings) as again:
        assert await again.grants.find(kept.grant_id) is not None


async def test_processes_that_start_together_migrate_once(state_settings: Settings) -> None:
    """All of them end well, with the same schema, and one of them made the key."""
    variables = {"FMSVC_DATA_DIR": str(state_settings.data_dir)}
    if state_settings.state_url is not None:
        variables["FMSVC_STATE_URL"] = state_settings.state_url

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
    said = f"The state database has schema {newest}; 0 grants were encrypted anew.\n"
    assert ended == [(0, said)] * 3
