"""Brings the state database's schema up to date."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from readapi.state.database import Database
from readapi.state.locks import Locks

SCRIPTS = Path(__file__).parent / "migrations"


async def migrate(database: Database) -> str:
    """Take every step that is missing, in one transaction. Returns the revision that the schema has then.

    Processes that start together wait for the first and then find nothing to do.
    """
    async with Locks(database).holding("migration"), database.writing() as connection:
        await connection.run_sync(_upgrade)
        return await connection.run_sync(_revision)


def _revision(connection: Connection) -> str:
    revision = MigrationContext.configure(connection).get_current_revision()
    assert revision is not None
    return revision


def _upgrade(connection: Connection) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
