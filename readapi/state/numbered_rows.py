"""Tables whose rows are numbered from 1, without gaps, in the order in which they commit."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from sqlalchemy import Table, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database

_TRIES: Final = 20  # of numbers that another process may take at the same time
_PAGE: Final = 1_000

Row = Mapping[str, Any]


class TooBusy(Exception):
    """Other processes add rows all the time."""


async def add_row(database: Database, table: Table, make: Callable[[AsyncConnection], Awaitable[Row]]) -> Row:
    """Add a row; returns it with its number. `make` gives the other columns. Raises TooBusy."""
    for _ in range(_TRIES):
        try:
            async with database.writing() as connection:
                columns = await make(connection)
                newest = select(func.coalesce(func.max(table.c.number), 0))
                row = {"number": (await connection.execute(newest)).scalar_one() + 1, **columns}
                await connection.execute(table.insert().values(row))
                return row
        except IntegrityError:  # another process has added this number
            continue
    raise TooBusy


async def read_rows(database: Database, table: Table) -> AsyncIterator[Row]:
    """Yield all rows, the first one first, in pages."""
    last = 0
    while True:
        page = select(table).where(table.c.number > last).order_by(table.c.number).limit(_PAGE)
        async with database.reading() as connection:
            rows = (await connection.execute(page)).mappings().all()
        for row in rows:
            yield dict(row)
        if len(rows) < _PAGE:
            return
        last = rows[-1]["number"]


async def read_latest(database: Database, table: Table, most: int) -> list[Row]:
    """The latest rows, the earliest of them first."""
    page = select(table).order_by(table.c.number.desc()).limit(most)
    async with database.reading() as connection:
        rows = (await connection.execute(page)).mappings().all()
    return [dict(row) for row in reversed(rows)]
