"""Empty state databases, migrated once and copied from then on."""

import contextlib
import shutil
import sqlite3
import uuid
from pathlib import Path

from readapi.state.state import open_state
from schemas import data_folder
from schemas.settings import Settings
from tests.postgres import new_database

TEMPLATE = "migrated"


class EmptyStates:
    """Makes each database from a template, which the first to need it migrates. `folder` holds SQLite's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: set[str] = set()

    async def sqlite(self, data_dir: Path) -> Settings:
        """An empty state in the data folder."""
        template = self._folder / data_folder.STATE_DATABASE
        if not template.exists():
            async with open_state(Settings(data_dir=self._folder)):
                pass
            with contextlib.closing(sqlite3.connect(template)) as connection:
                connection.execute("pragma wal_checkpoint(truncate)")
        copy = data_dir / data_folder.STATE_DATABASE
        copy.parent.mkdir(mode=0o700, parents=True)
        shutil.copyfile(template, copy)
        return Settings(data_dir=data_dir)

    async def postgresql(self, data_dir: Path, server: str) -> Settings:
        """An empty state on a server."""
        if server not in self._servers:
            url = await new_database(server, TEMPLATE)
            async with open_state(Settings(data_dir=self._folder / "postgresql", state_url=url)):
                self._servers.add(server)
        url = await new_database(server, uuid.uuid4().hex, TEMPLATE)
        return Settings(data_dir=data_dir, state_url=url)
