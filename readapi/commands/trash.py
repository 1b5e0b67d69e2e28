"""`trash`: lists and restores released audio files before they are deleted, and lists orphans."""

import asyncio
from collections.abc import Awaitable, Callable

import cyclopts

from readapi.audio.store import AudioStore
from readapi.commands.start import FAILED, begin, stop
from readapi.commands.state_errors import explained
from readapi.publishing.originals.orphans import Orphans
from readapi.publishing.originals.references import Originals
from readapi.publishing.originals.trash import NotRestored
from readapi.state.publishing.stored_files import Released
from readapi.state.state import State, open_state
from schemas import datetimes

MOST = 1_000

trash = cyclopts.App(name="trash", help="List and restore released audio files; list orphaned ones.")

Work = Callable[[State, AudioStore], Awaitable[str]]


@trash.default
def list_trash() -> None:
    """List released recordings, with the day on which each is deleted."""

    async def listing(state: State, store: AudioStore) -> str:
        refusal = await Originals(state, store).pairing.check()
        released = await state.stored_files.in_trash(MOST)
        known = await state.audio_store.find()
        counted = "not counted yet" if known.orphans is None else f"{known.orphans:,} files, kept"
        last = [f"{len(released):,} released files. Orphaned files: {counted}."]
        return "\n".join([*map(_line, released), *last, *([] if refusal is None else [refusal])])

    print(_done(listing))


@trash.command
def restore(file_id: str) -> None:
    """Restore a recording to its track, as its original or an earlier version.

    Parameters
    ----------
    file_id
        The first column of the listing.
    """

    async def restored(state: State, store: AudioStore) -> str:
        try:
            return await Originals(state, store).trash.restore(file_id)
        except NotRestored as error:
            stop(FAILED, str(error))

    print(_done(restored))


@trash.command
def orphans() -> None:
    """List orphans: files in the audio store that the database does not know. They are never deleted."""

    async def listing(state: State, store: AudioStore) -> str:
        found = [f"{file.key} {file.size:,} bytes" async for file in Orphans(state, store).found()]
        return "\n".join([*found, f"{len(found):,} orphaned files."])

    print(_done(listing))


@trash.command
def adopt() -> None:
    """Confirm that the state database and the audio store belong together, and that the database is complete.

    For use after restoring an older backup, or if the store's identity was lost. From then on files that the
    database knows are deleted again when they are released; unknown files stay.
    """

    async def adopted(state: State, store: AudioStore) -> str:
        await Originals(state, store).pairing.adopt()
        count = await state.stored_files.own()
        return f"The audio store belongs to this state database, which knows {count:,} recordings in it."

    print(_done(adopted))


def _line(released: Released) -> str:
    when, until = datetimes.render(released.released_at), datetimes.render(released.delete_at)
    track = released.track_uri or "-"
    return (
        f"{released.file_id} {released.key.partition('/')[0]} {released.reason} {when} until {until} {track}"
    )


def _done(work: Work) -> str:
    settings = begin("trash")

    async def run() -> str:
        async with open_state(settings) as state:
            return await work(state, AudioStore.of(settings))

    return explained(lambda: asyncio.run(run()))
