"""What alembic runs to migrate: on the connection that it is handed, inside its transaction."""

from alembic import context

from readapi.state.db.publishing_tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
