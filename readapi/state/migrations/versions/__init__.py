"""One module per migration; alembic runs them in order."""
