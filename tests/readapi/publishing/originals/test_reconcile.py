"""What is kept of tracks goes when their records are gone for good, and never on a server's word."""

import asyncio
import json
from pathlib import Path
from typing import cast

import pytest

from readapi.audio.blob_cache import Blobs
from readapi.audio.store import AudioStore
from readapi.errors import PdsUnavailable
from readapi.index.indexer_client import Proofs, Signed
from readapi.index.lookups import Index
from readapi.publishing.originals.placement import MOVED
from readapi.publishing.originals.reconcile import MOST, RecordReconciliation
from readapi.publishing.originals.references import Originals, managed_of
from readapi.state.publishing import file_keys
from readapi.state.publishing.file_keys import original_key, rendition_key
from readapi.state.publishing.uploads import Audio
from readapi.state.state import State, open_state
from schemas.collections import Collections
from schemas.ids import AtUri, Did, Tid
from schemas.publishing import OPEN
from schemas.settings import Settings
from tests import documents
from tests.readapi.audio.sounds import own_sound
from tests.readapi.publishing.own_server import TRACK, OwnServer, blob, digest, track
from tests.readapi.state.people import HandClock
from tests.readapi.studio import Studio, template

OLD, NEW = Tid("3kaaaaaaaaa22"), Tid("3kzzzzzzzzz22")  # before the track was made, and after
CONTENT = b"sound"
SONG = Audio("ab" * 32, 5, "flac", "audio/flac", 2)
VERSION = Audio("cd" * 32, 5, "flac", "audio/flac", 2)
GONE = Signed(NEW, None)
KEPT = Signed(
    NEW, documents.encode(documents.least("track") | {"audioUrl": "https://other.example/song.mp3"})
)


class World:
    """What is kept of a track; its account, that signs what it is told to or cannot be asked; an index."""

    def __init__(self, state: State, folder: Path, clock: HandClock) -> None:
        self.clock = clock
        self.state = state
        self.store = AudioStore.of(Settings(data_dir=folder))
        self.originals = Originals(state, self.store)
        self.signed: Signed | None = KEPT
        self.asked: list[AtUri] = []
        self.shown: set[str] = set()
        self.server = OwnServer(folder)
        self.reconciling = RecordReconciliation(
            state,
            self.originals,
            cast(Proofs, self),
            cast(Blobs, self.server),
            cast(Index, self),
            Collections(),
        )

    async def record(self, uri: AtUri) -> Signed:
        """As the account has signed it."""
        self.asked.append(uri)
        if self.signed is None:
            raise PdsUnavailable
        return self.signed

    def track_at(self, uri: str) -> object | None:
        """Does the index show it?"""
        return uri if uri in self.shown else None

    async def put(self, folder: Path, *keys: str) -> None:
        await self.state.stored_files.expect(*keys)
        for key in keys:
            path = folder / "arriving"
            path.write_bytes(CONTENT)
            await self.store.put(key, path)

    async def days(self, count: int, signed: Signed | None) -> None:
        """Time passes, in which the account is asked each day."""
        self.signed = signed
        for _ in range(count):
            self.clock.forward(days=1)
            await self.reconciling.reconcile()

    async def left(self) -> set[str]:
        """What is in the store, but for what lies in the trash."""
        folders = (file_keys.ORIGINALS, file_keys.RENDITIONS)
        files = {file.key for folder in folders async for file in self.store.keys(folder)}
        return files - {one.key for one in await self.state.stored_files.in_trash(1000)}


ALL = {original_key(SONG.file_id), rendition_key(SONG.file_id, "m4a"), original_key(VERSION.file_id)}


@pytest.fixture
async def world(state: State, tmp_path: Path, clock: HandClock) -> World:
    """A track with an original, a rendition and an earlier version."""
    opened = World(state, tmp_path, clock)
    await opened.put(tmp_path, *ALL)
    await opened.originals.own(managed_of(TRACK, SONG))
    await state.revisions.add(TRACK, VERSION, "managed", OPEN)
    return opened


async def test_what_is_gone_for_a_week_leaves_nothing(world: World) -> None:
    """And not a day earlier."""
    await world.days(7, GONE)
    before = await world.left()

    await world.days(1, GONE)

    assert (before, await world.left()) == (ALL, set())
    assert await world.state.managed_audio.find(str(TRACK)) is None
    assert await world.state.revisions.of(TRACK) == []


async def test_a_track_that_comes_back_begins_the_week_anew(world: World) -> None:
    """A server may have been set back for a while."""
    await world.days(7, GONE)
    await world.days(1, KEPT)
    await world.days(7, GONE)

    assert await world.left() == ALL


@pytest.mark.parametrize("signed", [None, KEPT, Signed(OLD, None)], ids=["silent", "there", "played back"])
@pytest.mark.slow
async def test_nothing_goes_without_a_new_signature(world: World, signed: Signed | None) -> None:
    """Not of a server that is down, nor of one that plays back a commit from before the track."""
    await world.days(30, signed)

    assert await world.left() == ALL


async def test_a_server_that_falls_silent_does_not_end_the_week(world: World) -> None:
    """What it signed before and what it signs after is one finding."""
    await world.days(2, GONE)
    await world.days(6, None)
    before = await world.left()

    await world.days(1, GONE)

    assert (before, await world.left()) == (ALL, set())


async def test_what_the_index_shows_stays(world: World) -> None:
    """Then the two do not agree."""
    world.shown = {str(TRACK)}

    await world.days(30, GONE)

    assert await world.left() == ALL


async def test_what_is_held_anew_stays(world: World) -> None:
    """Somebody is at it at this very moment, and the record is about to speak of it."""
    await world.days(7, GONE)
    await world.originals.hold(managed_of(TRACK, SONG))

    await world.days(1, GONE)

    assert await world.left() == ALL


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_copy_goes_when_the_artists_own_server_has_it(world: World, is_there: bool) -> None:
    """Whole, and with the right hash; what the record names and nobody has is no reason. Versions stay."""
    if is_there:
        world.server.blobs[blob(digest(CONTENT), len(CONTENT))["ref"]["$link"]] = CONTENT
    speaking = Signed(
        NEW,
        documents.encode(
            documents.least("track") | {"audioBlob": documents.blob("audio/flac", len(CONTENT), CONTENT)}
        ),
    )

    await world.days(8, speaking)

    left = {original_key(VERSION.file_id)} if is_there else ALL
    assert await world.left() == left


async def test_nothing_is_fetched_for_a_track_that_has_no_copy(world: World) -> None:
    """Earlier versions are kept of tracks whose recordings are at their artists' servers for good."""
    world.server.blobs[blob(digest(CONTENT), len(CONTENT))["ref"]["$link"]] = CONTENT
    await world.originals.forget(TRACK, MOVED)
    said = documents.least("track") | {"audioBlob": documents.blob("audio/flac", len(CONTENT), CONTENT)}

    await world.days(9, Signed(NEW, documents.encode(said)))

    assert world.server.opened == []


@pytest.mark.slow
async def test_of_many_tracks_those_are_asked_for_that_waited_longest(world: World) -> None:
    """So many at a time, and none again on the same day."""
    for number in range(MOST):
        uri = track(2, Did(f"did:plc:{number:024}"))
        await world.originals.own(managed_of(uri, SONG))
    world.signed = None

    for _ in range(3):
        await world.reconciling.reconcile()

    assert len(world.asked) == len(set(world.asked)) == MOST + 1


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
async def test_a_track_that_another_program_deletes_takes_its_audio_along(
    studio: Studio, tmp_path: Path
) -> None:
    """The real server signs that it is gone, the real indexer proves it: a week later it is in the trash."""
    mara = await studio.artist()
    published = await mara.publish(own_sound(tmp_path), publishing=json.dumps(template("public", "off")))
    uri, file_id = AtUri.parse(published["uri"]), published["file_id"]
    clock = HandClock()
    settings = Settings(data_dir=studio.data_dir)
    index = Index(settings.data_dir, settings.base_url)
    await index.follow()
    async with open_state(settings, clock) as state:
        originals = Originals(state, AudioStore.of(settings))
        held = await originals.find(uri)
        assert held is not None
        await originals.own(held)  # by this clock
        proofs, blobs = Proofs(settings.data_dir), cast(Blobs, None)
        reconciling = RecordReconciliation(state, originals, proofs, blobs, index, Collections())
        there = await proofs.record(uri)
        await mara.account.delete_record(uri.collection, uri.rkey)
        async with asyncio.timeout(30):
            while index.track_at(str(uri)) is not None:
                await asyncio.sleep(0.05)
                await index.follow()

        await reconciling.reconcile()
        clock.forward(days=8)
        before = file_id in studio.stored("originals")
        await reconciling.reconcile()
        released = {one.key for one in await state.stored_files.in_trash(1000)}
        clock.forward(days=28)
        await originals.trash.empty()

    assert {original_key(file_id), rendition_key(file_id, "m4a")} <= released
    assert (there.record is None, before) == (False, True)
    assert file_id not in studio.stored("originals")
    assert f"{file_id}.m4a" not in studio.stored("renditions")
