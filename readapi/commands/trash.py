"""`trash`: files of the audio store that nothing needs any more, before they are deleted."""

import asyncio
from collections.abc import Awaitable, Callable

import cyclopts

from readapi import times
from readapi.audio.store import AudioStore
from readapi.commands.on_state import explained
from readapi.commands.start import FAILED, begin, stop
from readapi.publishing.originals import Originals
from readapi.publishing.orphans import Orphans
from readapi.publishing.trash import NotRestored
from readapi.state.state import State, open_state
from readapi.state.stored_files import Released

MOST = 1_000

trash = cyclopts.App(name="trash", help="Released audio: listed, restored; what is deleted and what is not.")

Work = Callable[[State, AudioStore], Awaitable[str]]


@trash.default
def list_trash() -> None:
    """List the recordings that nothing needs any more, with the day on which each is deleted."""

    async def listing(state: State, store: AudioStore) -> str:
        refusal = await Originals(state, store).pairing.check()
        released = await state.stored_files.in_trash(MOST)
        known = await state.audio_store.find()
        counted = "not counted yet" if known.orphans is None else f"{known.orphans:,} files, kept"
        last = [f"{len(released):,} released files. Files that belong to nothing: {counted}."]
        return "\n".join([*map(_line, released), *last, *([] if refusal is None else [refusal])])

    print(_done(listing))


@trash.command
def restore(file_id: str) -> None:
    """Let a recording be again what it was to its track.

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
    """List the files of the audio store that belong to nothing. They are never deleted by this service."""

    async def listing(state: State, store: AudioStore) -> str:
        found = [f"{file.key} {file.size:,} bytes" async for file in Orphans(state, store).found()]
        return "\n".join([*found, f"{len(found):,} files belong to nothing."])

    print(_done(listing))


@trash.command
def adopt() -> None:
    """Say that the state database and the audio store belong together, and that the database is complete.

    After an older backup was restored, or the identity was lost. From then on files that the database knows
    are deleted again when they are released; files that it does not know stay.
    """

    async def adopted(state: State, store: AudioStore) -> str:
        await Originals(state, store).pairing.adopt()
        count = await state.stored_files.own()
        return f"The audio store belongs to this state database, which knows {count:,} recordings in it."

    print(_done(adopted))


def _line(released: Released) -> str:
    when, until = times.render(released.released_at), times.render(released.delete_at)
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
