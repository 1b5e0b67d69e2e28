"""Stored webhooks of developer tokens: addresses, positions in the change log, and signing secrets."""

import uuid
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from readapi.state.db.database import Database
from readapi.state.db.encryption import Encryption, Undecryptable, read_unsealed
from readapi.state.db.tables import developer_tokens, grants, webhooks
from schemas.ids import Did

MOST_OF_A_TOKEN: Final = 5
MOST_OF_AN_ACCOUNT: Final = 20  # of all its tokens, also ended ones
OVERLAP: Final = timedelta(days=1)  # how long a replaced secret signs beside the new one
ANOTHER_LOG: Final = timedelta(minutes=1)  # sent again where another node's log is followed from now on


class TooManyWebhooks(Exception):
    """The token, or everyone together, has as many as there may be; the message is a sentence."""


class Secret(NamedTuple):
    """A secret, and until when it signs; None: until it is replaced."""

    text: str
    until: datetime | None = None


_SECRETS: Final = TypeAdapter(list[Secret])


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook to store. `wanted`: its filter, as JSON.

    `log`, `position`: where in which change log it begins.
    """

    token_id: str
    did: Did
    url: str
    wanted: str
    log: str
    position: int


@dataclass(frozen=True, slots=True)
class Webhook(NewWebhook):
    """A webhook without its secrets.

    Everything up to `position` was delivered. A delivery that was begun ends at `sending_to`: it is repeated
    with the same end, and so with the same id, whenever it was interrupted. `failures`: in a row.
    """

    id: str
    created_at: datetime
    sending_to: int
    delivered_at: datetime | None
    failures: int
    failing_since: datetime | None
    next_attempt_at: datetime | None
    last_error: str | None
    paused_because: str | None


_TOLD: Final = [webhooks.c[field.name] for field in fields(Webhook)]
_ACTIVE = (
    select(*_TOLD)
    .join(developer_tokens, developer_tokens.c.id == webhooks.c.token_id)
    .join(grants, grants.c.id == developer_tokens.c.grant_id)
    .where(grants.c.ended_because.is_(None), webhooks.c.paused_because.is_(None))
)


class Webhooks:
    """The table `webhooks`."""

    def __init__(self, database: Database, vault: Encryption) -> None:
        self._database = database
        self._vault = vault

    async def add(self, new: NewWebhook, secret: str, most: int) -> Webhook:
        """Store a webhook. `most`: in all of those that are delivered to. Raises TooManyWebhooks."""
        webhook_id = uuid.uuid4().hex
        row = {
            "id": webhook_id,
            "token_id": new.token_id,
            "did": new.did,
            "url": new.url,
            "wanted": new.wanted,
            "log": new.log,
            "position": new.position,
            "sending_to": new.position,
            "created_at": self._database.now(),
            "failures": 0,
            **self._sealed(webhook_id, [Secret(secret)]),
        }
        async with self._database.writing() as connection:
            await _require_room(connection, new, most, self._database.now())
            stored = await connection.execute(webhooks.insert().values(row).returning(*_TOLD))
            return Webhook(**stored.mappings().one())

    async def of(self, did: Did, token_id: str | None = None) -> list[Webhook]:
        """An account's webhooks, or those of one of its tokens, the oldest first."""
        found = select(*_TOLD).where(webhooks.c.did == did)
        if token_id is not None:
            found = found.where(webhooks.c.token_id == token_id)
        async with self._database.reading() as connection:
            rows = await connection.execute(found.order_by(webhooks.c.created_at, webhooks.c.id))
            return [Webhook(**row) for row in rows.mappings()]

    async def find(self, webhook_id: str) -> Webhook | None:
        """One webhook."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(*_TOLD).where(webhooks.c.id == webhook_id))
            row = found.mappings().one_or_none()
        return None if row is None else Webhook(**row)

    async def remove(self, webhook_id: str) -> None:
        """Delete a webhook."""
        async with self._database.writing() as connection:
            await connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id))

    async def rotate(self, webhook_id: str, secret: str) -> datetime:
        """Sign with a new secret; the former one signs too for OVERLAP. Returns the end of that period."""
        async with self._database.writing() as connection:
            until = self._database.now() + OVERLAP
            current = (await self._open(connection, webhook_id))[0]
            kept = [Secret(secret), Secret(current.text, until)]
            change = update(webhooks).where(webhooks.c.id == webhook_id)
            await connection.execute(change.values(self._sealed(webhook_id, kept)))
        return until

    async def secrets(self, webhook_id: str) -> list[str]:
        """The secrets that sign now, the newest first; none of one that is gone. Raises Undecryptable."""
        now = self._database.now()
        async with self._database.reading() as connection:
            kept = await self._open(connection, webhook_id)
        return [secret.text for secret in kept if secret.until is None or secret.until > now]

    async def resume(self, webhook_id: str) -> None:
        """Try again at once, also one that is paused, from where it was."""
        await self._change(
            webhook_id, failures=0, failing_since=None, next_attempt_at=None, paused_because=None
        )

    async def due(self) -> list[Webhook]:
        """Webhooks of valid tokens that are neither paused nor waiting after a failure."""
        now = self._database.now()
        rested = webhooks.c.next_attempt_at.is_(None) | (webhooks.c.next_attempt_at <= now)
        async with self._database.reading() as connection:
            rows = await connection.execute(_ACTIVE.where(developer_tokens.c.expires_at > now, rested))
            return [Webhook(**row) for row in rows.mappings()]

    async def begin(self, webhook_id: str, sending_to: int) -> None:
        """Note where the delivery that begins will end."""
        await self._change(webhook_id, sending_to=sending_to)

    async def advance(self, webhook_id: str, position: int, *, is_delivered: bool) -> None:
        """Note that everything up to a position was delivered, or that nothing up to it is wanted."""
        told = {"delivered_at": self._database.now()} if is_delivered else {}
        well = {"failures": 0, "failing_since": None, "next_attempt_at": None, "last_error": None}
        await self._change(webhook_id, position=position, sending_to=position, **well, **told)

    async def fail(self, webhook: Webhook, error: str, pause: timedelta, paused_because: str | None) -> None:
        """Note a failure: the next attempt follows after a pause, or none."""
        now = self._database.now()
        await self._change(
            webhook.id,
            failures=webhook.failures + 1,
            failing_since=webhook.failing_since or now,
            next_attempt_at=now + pause,
            last_error=error,
            paused_because=paused_because,
        )

    async def adopt(self, log: str) -> None:
        """Switch to this change log.

        Positions of another log do not match it, so the last minute is repeated.
        """
        back = webhooks.c.position - ANOTHER_LOG // timedelta(microseconds=1)
        change = update(webhooks).where(webhooks.c.log != log)
        async with self._database.writing() as connection:
            await connection.execute(change.values(log=log, position=back, sending_to=back))

    async def reseal(self) -> int:
        """Encrypt with the newest key what an older one encrypted; returns the number of webhooks."""
        stale = select(webhooks.c.id).where(webhooks.c.sealed_with != self._vault.newest_key)
        async with self._database.reading() as connection:
            stale_ids = (await connection.execute(stale)).scalars().all()
        done = [await self._reseal_one(webhook_id) for webhook_id in stale_ids]
        return sum(done)

    async def _reseal_one(self, webhook_id: str) -> bool:
        async with self._database.writing() as connection:
            try:
                kept = await self._open(connection, webhook_id)
            except Undecryptable:
                return False  # its key may be configured again
            if not kept:
                return False
            change = update(webhooks).where(webhooks.c.id == webhook_id)
            await connection.execute(change.values(self._sealed(webhook_id, kept)))
        return True

    async def _change(self, webhook_id: str, **columns: Any) -> None:
        async with self._database.writing() as connection:
            await connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(columns))

    def _sealed(self, webhook_id: str, kept: list[Secret]) -> dict[str, object]:
        sealed = self._vault.seal(_SECRETS.dump_json(kept), _row(webhook_id))
        return {"sealed": sealed, "sealed_with": self._vault.newest_key}

    async def _open(self, connection: AsyncConnection, webhook_id: str) -> list[Secret]:
        found = await connection.execute(select(webhooks.c.sealed).where(webhooks.c.id == webhook_id))
        sealed = found.scalar_one_or_none()
        return [] if sealed is None else read_unsealed(_SECRETS, self._vault.open(sealed, _row(webhook_id)))


async def _require_room(connection: AsyncConnection, new: NewWebhook, most: int, now: datetime) -> None:
    of_token = func.count().filter(webhooks.c.token_id == new.token_id)
    own = select(of_token, func.count()).where(webhooks.c.did == new.did)
    of_this_token, of_account = (await connection.execute(own)).one()
    if of_this_token >= MOST_OF_A_TOKEN:
        raise TooManyWebhooks(f"A developer token has at most {MOST_OF_A_TOKEN} webhooks.")
    if of_account >= MOST_OF_AN_ACCOUNT:
        raise TooManyWebhooks(f"An account has at most {MOST_OF_AN_ACCOUNT} webhooks; delete one.")
    active = _ACTIVE.where(developer_tokens.c.expires_at > now).subquery()
    if (await connection.execute(select(func.count()).select_from(active))).scalar_one() >= most:
        raise TooManyWebhooks("This service has no room for another webhook.")


def _row(webhook_id: str) -> str:
    return f"webhooks {webhook_id}"
