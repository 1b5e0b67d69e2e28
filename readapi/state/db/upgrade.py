"""Runs alembic. Imported only by a start that has a migration to run."""

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from readapi.state.db.database import SCRIPTS, MigrationFailed


def upgrade_schema(connection: Connection) -> None:
    """Take every missing step within the connection's transaction. Raises MigrationFailed."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise MigrationFailed(str(error)) from error
