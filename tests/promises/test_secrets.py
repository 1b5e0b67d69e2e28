"""Whoever gets hold of the state database gets nothing that opens a door."""

import sqlite3
from pathlib import Path

import asyncpg
import pytest

from readapi.state.db.tables import metadata
from readapi.state.sign_in.grants import GrantId
from readapi.state.state import State, open_state
from schemas import data_folder
from schemas.settings import Settings
from tests.network.person import Person
from tests.readapi.door import Door

pytestmark = pytest.mark.network


async def dumped(settings: Settings) -> bytes:
    """Everything that is in the database: as SQL, and the files as they lie there."""
    if settings.state_url is None:
        database = settings.data_dir / data_folder.STATE_DATABASE
        with sqlite3.connect(database) as connection:
            text = "\n".join(connection.iterdump())
        connection.close()
        files = b"".join(file.read_bytes() for file in database.parent.rglob("*") if file.is_file())
        return text.encode() + files
    connection = await asyncpg.connect(settings.state_url)
    try:
        rows = [await connection.fetch(f'select t::text from "{name}" t') for name in metadata.tables]
    finally:
        await connection.close()
    return "\n".join(row[0] for table in rows for row in table).encode()


async def of_grants(state: State, *grant_ids: GrantId) -> set[str]:
    """The secrets that servers gave us, and the keys that they are bound to."""
    found = set()
    for grant_id in grant_ids:
        held = await state.grants.find(grant_id)
        assert held is not None
        assert held.grant is not None
        tokens = held.grant.tokens
        found |= {tokens.access_token, tokens.refresh_token or "", private_part(held.grant.dpop_key)}
    return found


def private_part(key: str) -> str:
    return key.partition('"d": "')[2].partition('"')[0]


@pytest.mark.slow
async def test_a_dump_holds_no_secret(door: Door, person: Person, state_settings: Settings) -> None:
    """Session, developer token, exchange token, state, code, verifier, tokens, keys: plain or as hex."""
    session = await door.sign_in(person)
    developer_token = await door.make_token(person, session)
    back = await person.agree(await door.start(person))
    unused = (await door.come_back(back)).json["exchange_token"]
    on_the_way = await person.agree(await door.start(person))

    dump = await dumped(state_settings)

    async with open_state(state_settings) as state:
        of_session, of_token = (
            await state.sessions.find(session),
            await state.developer_tokens.find(developer_token),
        )
        left = await state.flights.take(on_the_way["state"])
        assert of_session is not None
        assert of_token is not None
        assert left is not None
        secrets = await of_grants(state, of_session.grant_id, of_token.grant_id)
    secrets |= {session, developer_token, unused, back["state"], back["code"], on_the_way["state"]}
    secrets |= {on_the_way["code"], left.flight.verifier, private_part(left.flight.dpop_key)}
    key_file = Path(state_settings.data_dir / "secret.key").read_text().strip()

    assert len(secrets) == 15
    assert all(len(secret) > 20 for secret in secrets)
    for secret in [*secrets, key_file]:
        assert secret.encode() not in dump
        assert secret.encode().hex().encode() not in dump.lower()
    assert person.account.did.encode() in dump, "the dump is one of this database"
