"""Moves an SQLite state database into an empty PostgreSQL database: schema and rows in one transaction."""

import shutil
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Table, insert, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.backups.folder import BackupError
from readapi.state.db.database import Database, database_url
from readapi.state.db.migrate import migrate_database
from readapi.state.db.publishing_tables import metadata
from readapi.state.db.upgrade import upgrade_schema
from schemas import data_folder
from schemas.settings import Settings

ROWS: Final = 1_000  # written in one statement


async def move_state(settings: Settings, data_dir: Path) -> None:
    """Move a data folder's state database into the configured one. Raises BackupError."""
    file = data_dir / data_folder.STATE_DATABASE
    source = Database(URL.create("sqlite+aiosqlite", database=str(file)))
    target = Database(database_url(settings))
    try:
        await migrate_database(source)  # an older version may have made the backup
        async with source.reading() as reading, target.writing() as writing:
            await writing.run_sync(upgrade_schema)
            for table in metadata.sorted_tables:
                await _copy(table, reading, writing)
    except (SQLAlchemyError, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BackupError(f"The state database cannot be put into PostgreSQL: {said}") from error
    finally:
        await target.close()
        await source.close()
    shutil.rmtree(file.parent)


async def _copy(table: Table, reading: AsyncConnection, writing: AsyncConnection) -> None:
    rows = await reading.stream(select(table))
    async for some in rows.mappings().partitions(ROWS):
        await writing.execute(insert(table), [dict(row) for row in some])
    counted = table.autoincrement_column
    if counted is not None:  # the sequence continues after the ids in use
        await writing.execute(
            text(
                f"select setval(pg_get_serial_sequence('{table.name}', '{counted.name}'), "
                f"coalesce(max({counted.name}), 0) + 1, false) from {table.name}"
            )
        )
