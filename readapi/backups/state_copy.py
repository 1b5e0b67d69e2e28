"""Copies the state database as of one instant, with the audio files that it refers to, and restores it."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

from sqlalchemy import URL, select, table, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from readapi.backups import folder, named
from readapi.backups.folder import BackupError
from readapi.backups.manifest import StateDatabase
from readapi.backups.named import ReferencedFiles
from readapi.state.db.database import database_url
from readapi.state.db.migrate import NEWEST
from schemas import data_folder
from schemas.settings import Settings

INSTALL: Final = "install PostgreSQL's client programs (the package postgresql-client), as new as the server"


async def copy_state(settings: Settings, target: Path) -> tuple[StateDatabase, ReferencedFiles] | None:
    """Copy the database into a folder; None where there is none yet. Raises BackupError."""
    try:
        if settings.state_url is not None:
            return await _postgresql(database_url(settings), target / folder.DUMP)
        source = settings.data_dir / data_folder.STATE_DATABASE
        return await _sqlite(source, target / folder.SQLITE) if source.exists() else None
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        said = str(error).partition("\n")[0]
        raise BackupError(f"The state database cannot be copied: {said}") from error


def restore_file(backup: Path, data_dir: Path) -> None:
    """Copy the file of an SQLite database into a data folder."""
    target = data_dir / data_folder.STATE_DATABASE
    target.parent.mkdir(mode=0o700, parents=True)
    folder.copy_file(backup / folder.SQLITE, target)
    folder.sync_to_disk(target)


async def restore_dump(settings: Settings, backup: Path) -> None:
    """Fill the configured, empty PostgreSQL database in one transaction. Raises BackupError."""
    url = database_url(settings)
    alone = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
    await _run("pg_restore", url, *alone, f"--dbname={url.database or ''}", str(backup / folder.DUMP))


async def require_empty(settings: Settings, kind: str) -> None:
    """Raise BackupError unless the PostgreSQL database can be filled from a backup of this kind."""
    if kind == "postgresql":
        _program("pg_restore")
    try:
        async with _connected(database_url(settings)) as connection:
            tables = await connection.scalar(
                text("select count(*) from pg_tables where schemaname = current_schema()")
            )
    except (SQLAlchemyError, OSError) as error:
        raise BackupError(
            f"The state database cannot be opened: {str(error).partition(chr(10))[0]}"
        ) from error
    if tables:
        raise BackupError("The database that FMSVC_STATE_URL names is not empty; name one that is.")


async def _sqlite(source: Path, target: Path) -> tuple[StateDatabase, ReferencedFiles]:
    """Copy with SQLite's backup API in one step: neither it nor any writer has to wait."""
    await asyncio.to_thread(_copy_file, source, target)
    async with _connected(URL.create("sqlite+aiosqlite", database=str(target))) as connection:
        revision, spoken_of = await _read(connection)
    return StateDatabase(kind="sqlite", revision=revision, bytes=target.stat().st_size), spoken_of


def _copy_file(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as copied:
        live.backup(copied)
        copied.execute("pragma journal_mode = delete")  # one file, without a log beside it


async def _postgresql(url: URL, target: Path) -> tuple[StateDatabase, ReferencedFiles]:
    """Run pg_dump with the snapshot of the transaction that reads the references."""
    _program("pg_dump")
    async with _connected(url) as connection:
        await connection.execute(text("set transaction isolation level repeatable read, read only"))
        await connection.execute(text("set local idle_in_transaction_session_timeout = 0"))
        snapshot = await connection.scalar(text("select pg_export_snapshot()"))
        revision, spoken_of = await _read(connection)
        form = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}")
        await _run("pg_dump", url, *form, f"--file={target}")
    return StateDatabase(kind="postgresql", revision=revision, bytes=target.stat().st_size), spoken_of


async def _read(connection: AsyncConnection) -> tuple[str, ReferencedFiles]:
    revision = await connection.scalar(select(text("version_num")).select_from(table("alembic_version")))
    if revision != NEWEST:
        raise BackupError(
            f"The state database has schema {revision} and this version wants {NEWEST}; "
            "start this version once, or make the backup with the one that runs."
        )
    return str(revision), await named.read_references(connection)


@asynccontextmanager
async def _connected(url: URL) -> AsyncIterator[AsyncConnection]:
    engine = create_async_engine(url, hide_parameters=True)
    try:
        async with engine.connect() as connection:
            yield connection
    finally:
        await engine.dispose()


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BackupError(f"{name} is not on this machine; {INSTALL}.")
    return found


async def _run(name: str, url: URL, *arguments: str) -> None:
    """Run a PostgreSQL program; the password is in its environment, where other users cannot read it."""
    program = await asyncio.create_subprocess_exec(
        _program(name),
        *arguments,
        env={"PATH": os.defpath, "LC_ALL": "C", **_variables(url)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    _, said = await program.communicate()
    if program.returncode != 0:
        reason = said.decode(errors="replace").strip().splitlines() or [f"exit code {program.returncode}"]
        raise BackupError(f"{name} failed: {reason[-1][:300]}")


def _variables(url: URL) -> dict[str, str]:
    """The environment variables by which libpq finds the database."""
    query = {name: str(value) for name, value in url.query.items()}
    variables = {
        "PGHOST": query.get("host") or url.host,
        "PGPORT": query.get("port") or url.port,
        "PGUSER": query.get("user") or url.username,
        "PGPASSWORD": query.get("password") or url.password,
        "PGDATABASE": query.get("database") or url.database,
        "PGSSLMODE": query.get("ssl"),
    }
    return {name: str(value) for name, value in variables.items() if value}
