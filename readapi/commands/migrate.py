"""`migrate`: updates the state database's schema, and encrypts secrets with the newest key."""

import asyncio

from readapi.commands.start import begin
from readapi.commands.state_errors import explained
from readapi.state.state import open_state


def migrate() -> None:
    """Update the state database's schema, and encrypt again what older keys encrypted.

    Every worker updates the schema when it starts. To replace a key, put the new one before the others in
    FMSVC_SECRET_KEYS and run this; then remove the old key.
    """
    settings = begin("migrate")

    async def prepare() -> tuple[str, int, int]:
        async with open_state(settings) as state:
            return state.revision, await state.grants.reseal(), await state.webhooks.reseal()

    revision, resealed, of_webhooks = explained(lambda: asyncio.run(prepare()))
    print(f"The state database has schema {revision}; {resealed:,} grants were encrypted again.")
    if of_webhooks:
        print(f"So were the secrets of {of_webhooks:,} webhooks.")
