"""Everything that is kept, opened together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from alembic.util import CommandError
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from readapi.state.accounts import Accounts
from readapi.state.album_templates import AlbumTemplates
from readapi.state.audio_stores import AudioStores
from readapi.state.database import FOLDER, Clock, Database, address, utc_now
from readapi.state.developer_tokens import DeveloperTokens
from readapi.state.exchanges import Exchanges
from readapi.state.flights import Flights
from readapi.state.grants import GrantStore
from readapi.state.jobs import Jobs
from readapi.state.kept_tracks import KeptTracks
from readapi.state.locks import Locks
from readapi.state.managed import ManagedAudio
from readapi.state.migration import migrate
from readapi.state.plays import Plays
from readapi.state.preferences import PreferenceStore
from readapi.state.revisions import Revisions
from readapi.state.sessions import Sessions
from readapi.state.showing import Showing
from readapi.state.space_tracks import SpaceTracks
from readapi.state.stored_files import StoredFiles
from readapi.state.uploads import Uploads
from readapi.state.vault import Unreadable, Vault, open_vault
from schemas.settings import Settings


class StateError(Exception):
    """What is kept cannot be had; the message is one sentence for a person."""


class State:
    """One door for each thing kept."""

    def __init__(self, database: Database, vault: Vault, revision: str) -> None:
        self.revision = revision
        self.database = database
        self.locks = Locks(database)
        self.grants = GrantStore(database, vault)
        self.flights = Flights(database, vault)
        self.exchanges = Exchanges(database, vault)
        self.sessions = Sessions(database)
        self.accounts = Accounts(database)
        self.developer_tokens = DeveloperTokens(database)
        self.preferences = PreferenceStore(database)
        self.album_templates = AlbumTemplates(database)
        self.uploads = Uploads(database)
        self.jobs = Jobs(database)
        self.revisions = Revisions(database)
        self.plays = Plays(database, vault)
        self.showing = Showing(database)
        self.managed_audio = ManagedAudio(database)
        self.kept_tracks = KeptTracks(database)
        self.space_tracks = SpaceTracks(database)
        self.stored_files = StoredFiles(database)
        self.audio_store = AudioStores(database)

    async def is_reachable(self) -> bool:
        """Does the database answer?"""
        try:
            async with self.database.reading() as connection:
                await connection.execute(select(1))
        except (SQLAlchemyError, OSError):
            return False
        return True


@asynccontextmanager
async def open_state(settings: Settings, clock: Clock = utc_now) -> AsyncIterator[State]:
    """The state, its schema brought up to date, for as long as the block runs."""
    (settings.data_dir / FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(address(settings), clock)
    try:
        yield await _open(settings, database)
    finally:
        await database.close()


async def _open(settings: Settings, database: Database) -> State:
    try:
        return State(database, open_vault(settings), revision=await migrate(database))
    except Unreadable as error:
        raise StateError(str(error)) from error
    except (SQLAlchemyError, CommandError, OSError) as error:
        said = str(error).partition("\n")[0]
        raise StateError(f"The state database cannot be opened: {said}") from error
