"""`migrate`: updates the state database's schema, and encrypts secrets with the newest key."""

import asyncio

from readapi.commands.start import begin
from readapi.commands.state_errors import explained
from readapi.state.state import open_state


def migrate() -> None:
    """Bring the state database's schema up to date, and encrypt anew what older keys encrypted.

    Every worker does the first when it starts. After a new key was put before the others in
    FMSVC_SECRET_KEYS, this does the second; then the old key may go.
    """
    settings = begin("migrate")

    async def prepare() -> tuple[str, int]:
        async with open_state(settings) as state:
            return state.revision, await state.grants.reseal()

    revision, resealed = explained(lambda: asyncio.run(prepare()))
    print(f"The state database has schema {revision}; {resealed:,} grants were encrypted again.")
