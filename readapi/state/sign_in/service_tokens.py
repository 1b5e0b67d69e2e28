"""Service tokens that were used: each is accepted once, by any process, until it expires."""

from datetime import datetime

from sqlalchemy import delete

from readapi.state.db.database import Database
from readapi.state.db.one_time import key_of
from readapi.state.db.tables import service_tokens


class UsedServiceTokens:
    """Their hashes, until they expire."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def use(self, name: str, until: datetime) -> bool:
        """Note the use of a token, and delete expired ones; False when the token was used before."""
        table, row = service_tokens, {"key": key_of(name), "expires_at": until}
        adding = self._database.insert(table).values(row).on_conflict_do_nothing().returning(table.c.key)
        async with self._database.writing() as connection:
            await connection.execute(delete(table).where(table.c.expires_at <= self._database.now()))
            return (await connection.execute(adding)).one_or_none() is not None
