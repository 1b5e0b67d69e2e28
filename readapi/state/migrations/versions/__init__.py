"""One module per step; alembic runs them in order."""
