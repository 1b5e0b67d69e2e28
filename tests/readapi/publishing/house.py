"""A state database and an audio store as publishing uses them, with steps that tests put together."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from readapi.audio.store import AudioStore
from readapi.publishing.originals.references import Originals, managed_of
from readapi.publishing.originals.sweep import OrphanSweep
from readapi.state.db.claims import Claimant
from readapi.state.db.publishing_tables import metadata
from readapi.state.publishing import file_keys
from readapi.state.publishing.file_keys import original_key, received_audio, received_image, rendition_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.uploads import Audio, Wanted
from readapi.state.state import State
from schemas.ids import AtUri
from tests.readapi.state.people import MARA, HandClock
from tests.readapi.state.publishing.made import GRANT, track

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

WORKER = Claimant("worker", timedelta(days=1))


def audio(letter: str) -> Audio:
    """A recording with a hash of its own."""
    return Audio(letter * 64, 5, "wav", "audio/wav", 1)


class House:
    """One service's state and store, and the time."""

    def __init__(self, state: State, store: AudioStore, folder: Path, clock: HandClock) -> None:
        self.state, self.store, self.folder, self.clock = state, store, folder, clock
        self.originals = Originals(state, store)

    def anew(self) -> None:
        """The process ends, and another begins."""
        self.originals = Originals(self.state, self.store)

    async def put(self, key: str) -> None:
        """A file under a key, whatever anything knows of it."""
        path = self.folder / f"arriving-{os.urandom(4).hex()}"
        path.write_bytes(b"sound")
        await self.store.put(key, path)

    async def receive(self, number: int, letter: str) -> str:
        """A file comes, and is acknowledged."""
        upload_id = f"upload-{number}"
        await self.state.stored_files.expect(received_audio(upload_id), received_image(upload_id))
        await self.put(received_audio(upload_id))
        wanted = Wanted(audio(letter), {"title": "Song"})
        await self.state.uploads.put(upload_id, MARA, GRANT, "publish", track(number), wanted)
        await self.originals.pairing.advance()
        return upload_id

    async def publish(self, number: int, letter: str) -> AtUri:
        """A track whose original and rendition are in the store."""
        upload_id, uri = await self.receive(number, letter), track(number)
        await self.state.uploads.claims.claim(WORKER)
        await self.originals.take_in(upload_id, audio(letter).file_id)
        await self.hold(uri, letter)
        await self.originals.drop_received(upload_id)
        await self.state.uploads.complete(upload_id, WORKER, "Done.")
        return uri

    async def hold(self, uri: AtUri, letter: str) -> Managed:
        """The file is the track's, and everybody may hear a rendition of it."""
        held, key = managed_of(uri, audio(letter)), rendition_key(letter * 64, "m4a")
        if await self.store.size(key) is None:
            await self.state.stored_files.expect(key)
            await self.put(key)
        managed = Managed(
            **{name: getattr(held, name) for name in Managed.__slots__[:-1]}, rendition_type="m4a"
        )
        await self.originals.own(managed)
        return managed

    async def sweep(self, days: int = 0) -> None:
        """Time passes, and the service looks after its store."""
        self.clock.forward(days=days)
        await OrphanSweep(self.state, self.store, self.originals, self.folder / "receiving").sweep()

    async def months(self) -> None:
        """Half a year in which nothing else happens."""
        for _ in range(6):
            await self.sweep(days=30)

    async def files(self) -> set[str]:
        """What is in the store."""
        return {file.key for folder in file_keys.FOLDERS async for file in self.store.keys(folder)}

    async def backup(self) -> Rows:
        """Every row of the state database."""
        async with self.state.database.reading() as connection:
            return {
                table.name: [dict(row) for row in (await connection.execute(select(table))).mappings()]
                for table in metadata.sorted_tables
            }

    async def restore(self, rows: Rows) -> None:
        """The state database holds these rows, and no others."""
        async with self.state.database.writing() as connection:
            for table in reversed(metadata.sorted_tables):
                await connection.execute(table.delete())
            for table in metadata.sorted_tables:
                if rows.get(table.name):
                    await connection.execute(table.insert(), list(rows[table.name]))
        self.anew()


def of(*letters: str) -> set[str]:
    """The originals and renditions of recordings."""
    return {key(letter) for letter in letters for key in (_original, _rendition)}


def _original(letter: str) -> str:
    return original_key(letter * 64)


def _rendition(letter: str) -> str:
    return rendition_key(letter * 64, "m4a")
