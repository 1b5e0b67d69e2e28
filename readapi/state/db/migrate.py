"""Brings the state database's schema up to date."""

from typing import Final

from sqlalchemy import Connection, inspect, text

from readapi.state.db.database import SCRIPTS, Database
from readapi.state.db.locks import Locks

NEWEST: Final = max(path.name[1:5] for path in (SCRIPTS / "versions").glob("v*.py"))


async def migrate_database(database: Database) -> str:
    """Apply every missing migration in one transaction. Returns the resulting revision.

    Processes that start together wait for the first and then find nothing to do.
    """
    async with Locks(database).holding("migration"), database.writing() as connection:
        if await connection.run_sync(_revisions) != [NEWEST]:
            from readapi.state.db.upgrade import (
                upgrade_schema,  # imports alembic, a seventh of what a worker imports
            )

            await connection.run_sync(upgrade_schema)
    return NEWEST


def _revisions(connection: Connection) -> list[str]:
    """The revision that alembic recorded; empty for a new database."""
    if not inspect(connection).has_table("alembic_version"):
        return []
    return list(connection.scalars(text("select version_num from alembic_version")))
