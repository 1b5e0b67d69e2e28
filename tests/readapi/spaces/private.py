"""Artists and listeners at a server with private Spaces, in front of a worker and a job worker."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from joserfc.jwk import ECKey

from readapi.commands.network import open_network
from readapi.oauth import keys
from readapi.processes.job_worker import open_job_worker
from readapi.state.sign_in.linked_accounts import Account
from schemas.collections import Collections
from schemas.ids import Handle
from tests.indexer.changes import did
from tests.network.space_host import SpaceHost
from tests.patience import PATIENCE_SECONDS
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import Reply
from tests.readapi.state.people import grant, tokens

COLLECTIONS = Collections()
SCOPES = frozenset({"atproto", *COLLECTIONS.scopes, "blob:*/*"})
WITH_SPACES = SCOPES | {COLLECTIONS.space_scope}
Json = dict[str, Any]


def private(downloads: str = "open") -> str:
    """The template of a track that only the members of a Space know of."""
    access = {"listening": "space", "downloads": downloads, "visibility": "private"}
    return json.dumps({"access": access, "attach_rights": False})


def space_of(person: str) -> str:
    """Somebody's own Space."""
    return f"at://{did(person)}/space/fm.svc.privateTracks/self"


class Private:
    """The service, the server, and who is signed in."""

    def __init__(self, stage: Listening, host: SpaceHost) -> None:
        self.stage = stage
        self.host = host
        self.logins: dict[str, dict[str, str]] = {}

    async def sign_in(self, person: str, scopes: frozenset[str] = WITH_SPACES) -> None:
        """Somebody with a profile, who granted this."""
        self.host.granted[did(person)] = " ".join(scopes)
        profile = {"$type": COLLECTIONS.profile, "createdAt": "2026-01-02T03:04:05Z", "displayName": person}
        self.host.public[did(person), COLLECTIONS.profile, "self"] = profile
        lasting = tokens(expires_at=datetime.now(UTC) + timedelta(hours=1))
        held = replace(lasting, access_token=self.host.token(did(person)), scopes=scopes)
        given = replace(grant(did(person)), pds=self.host.url, dpop_key=keys.generate_key(), tokens=held)
        account = Account(did(person), Handle(f"{person}.example"), await self.stage.state.grants.add(given))
        session = await self.stage.state.sessions.begin(account)
        self.logins[person] = {"Authorization": f"Bearer {session}"}

    async def get(self, person: str | None, path: str) -> Reply:
        return await self.stage.music.get(path, **self.logins.get(person or "", {}))

    async def send(self, person: str, audio: Path, **fields: str) -> Reply:
        """A file, to be published."""
        form = aiohttp.FormData({"title": "Secret tide", **fields})
        form.add_field("file", audio.read_bytes(), filename="a.bin", content_type="application/octet-stream")
        url = f"{self.stage.music.address}/tracks/"
        async with self.stage.music.client.post(url, data=form, headers=self.logins[person]) as answer:
            return Reply(answer.status, answer.headers, await answer.json())

    async def upload(self, person: str, audio: Path, **fields: str) -> Json:
        """The same, when there is no more to be done about it."""
        reply = await self.send(person, audio, **fields)
        assert reply.status == 202, reply.json
        return await self.settled(person, reply.json["upload_id"])

    async def settled(self, person: str, upload_id: str) -> Json:
        """An upload, when there is no more to be done about it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                told = (await self.get(person, f"/tracks/uploads/{upload_id}")).json
                if told["status"] in ("completed", "failed"):
                    return dict(told)
                await asyncio.sleep(0.05)

    async def heard(self, person: str | None, track_id: int) -> Reply:
        return await self.get(person, f"/tracks/{track_id}/stream")


@asynccontextmanager
async def private_spaces(folder: Path, **fields: Any) -> AsyncIterator[Private]:
    """Everything, for as long as the block runs. Ben is let into Mara's Space; Ida is not.

    Mara's has a host and a key of its own, those of the others are their server's.
    """
    async with (
        SpaceHost() as host,
        listening(folder, plc_url=host.url, **fields) as stage,
        open_network(stage.music.settings) as network,
        open_job_worker(stage.music.settings, network),
    ):
        opened = Private(stage, host)
        host.space_keys[did("mara")] = ECKey.generate_key("P-256")
        for person in ("mara", "ben", "ida"):
            await opened.sign_in(person)
        host.members[space_of("mara")] = {did("mara"), did("ben")}
        yield opened
