"""Opens the state database, its encryption and its stores together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from readapi.state.activity import Activity
from readapi.state.db.database import Clock, Database, MigrationFailed, database_url, utc_now
from readapi.state.db.encryption import Encryption, Undecryptable, open_vault
from readapi.state.db.locks import Locks
from readapi.state.db.migrate import migrate_database
from readapi.state.label_decisions import LabelDecisions
from readapi.state.notices import Notices
from readapi.state.playing_now import PlayingNow
from readapi.state.publishing.album_templates import AlbumTemplates
from readapi.state.publishing.audio_stores import AudioStores
from readapi.state.publishing.jobs import Jobs
from readapi.state.publishing.managed_audio import ManagedAudio
from readapi.state.publishing.play_counts import PlayCounts
from readapi.state.publishing.preferences import PreferenceStore
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.publishing.reconciled_tracks import ReconciledTracks
from readapi.state.publishing.revisions import Revisions
from readapi.state.publishing.space_tracks import SpaceTracks
from readapi.state.publishing.stored_files import StoredFiles
from readapi.state.publishing.uploads import Uploads
from readapi.state.reports import Reports
from readapi.state.sign_in.authorization_requests import AuthorizationRequests
from readapi.state.sign_in.developer_tokens import DeveloperTokens
from readapi.state.sign_in.exchange_tokens import ExchangeTokens
from readapi.state.sign_in.grants import GrantStore
from readapi.state.sign_in.linked_accounts import LinkedAccounts
from readapi.state.sign_in.service_tokens import UsedServiceTokens
from readapi.state.sign_in.sessions import Sessions
from readapi.state.takedown_decisions import TakedownDecisions
from readapi.state.webhooks import Webhooks
from schemas import data_folder
from schemas.settings import Settings


class StateError(Exception):
    """The state cannot be opened; the message is one sentence for the operator."""


class State:
    """The stores of the state database, one attribute each."""

    def __init__(self, database: Database, vault: Encryption, revision: str) -> None:
        self.revision = revision
        self._vault = vault
        self.database = database
        self.locks = Locks(database)
        self.grants = GrantStore(database, vault)
        self.flights = AuthorizationRequests(database, vault)
        self.exchanges = ExchangeTokens(database, vault)
        self.sessions = Sessions(database)
        self.accounts = LinkedAccounts(database)
        self.developer_tokens = DeveloperTokens(database)
        self.webhooks = Webhooks(database, vault)
        self.service_tokens = UsedServiceTokens(database)
        self.preferences = PreferenceStore(database)
        self.album_templates = AlbumTemplates(database)
        self.uploads = Uploads(database)
        self.jobs = Jobs(database)
        self.revisions = Revisions(database)
        self.plays = PlayCounts(database, vault)
        self.showing = ProfileVisibility(database)
        self.managed_audio = ManagedAudio(database)
        self.kept_tracks = ReconciledTracks(database)
        self.space_tracks = SpaceTracks(database)
        self.stored_files = StoredFiles(database)
        self.audio_store = AudioStores(database)
        self.reports = Reports(database)
        self.notices = Notices(database)
        self.playing_now = PlayingNow(database)
        self.activity = Activity(database, self.name_network)
        self.takedown_decisions = TakedownDecisions(database)
        self.label_decisions = LabelDecisions(database)

    def name_network(self, network: str) -> str:
        """A network by a keyed hash, for what people without an account send: it tells no address."""
        return f"network:{self._vault.digest(f'sender {network}')[:8].hex()}"

    async def is_reachable(self) -> bool:
        """Does the database answer a query?"""
        try:
            async with self.database.reading() as connection:
                await connection.execute(select(1))
        except (SQLAlchemyError, OSError):
            return False
        return True


@asynccontextmanager
async def open_state(settings: Settings, clock: Clock = utc_now) -> AsyncIterator[State]:
    """Open the state for the block, with its schema migrated."""
    (settings.data_dir / data_folder.STATE).mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(database_url(settings), clock)
    try:
        yield await _open(settings, database)
    finally:
        await database.close()


async def _open(settings: Settings, database: Database) -> State:
    try:
        return State(database, open_vault(settings), revision=await migrate_database(database))
    except Undecryptable as error:
        raise StateError(str(error)) from error
    except (SQLAlchemyError, MigrationFailed, OSError) as error:
        said = str(error).partition("\n")[0]
        raise StateError(f"The state database cannot be opened: {said}") from error
