"""The entry point of alembic: migrates on the given connection, inside its transaction."""

from alembic import context

from readapi.state.db.publishing_tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
