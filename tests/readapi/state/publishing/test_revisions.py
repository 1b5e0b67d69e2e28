"""The last ten versions of a track's audio are known, and files that no version needs are told of."""

from dataclasses import replace

from readapi.state.publishing.file_keys import original_key
from readapi.state.publishing.stored_files import Release
from readapi.state.publishing.uploads import Audio
from readapi.state.state import State
from schemas.publishing import OPEN
from tests.readapi.state.publishing.made import AUDIO, track


async def test_a_version_is_kept_once(state: State) -> None:
    """Also when whoever keeps it was interrupted and begins again."""
    for _ in range(2):
        await state.revisions.add(track(1), AUDIO, "managed", OPEN)

    (kept,) = await state.revisions.of(track(1))

    assert (kept.track, kept.audio, kept.storage, kept.access) == (track(1), AUDIO, "managed", OPEN)
    assert await state.revisions.of(track(2)) == []


async def test_the_eleventh_drives_the_first_out(state: State) -> None:
    """Not before it is asked for; nobody needs the file then, unless another track's version does."""
    versions = [replace(AUDIO, file_id=f"{number:064x}") for number in range(12)]
    await put(state, *versions)
    await state.revisions.add(track(2), versions[0], "pds", OPEN)

    for version in versions:
        await state.revisions.add(track(1), version, "pds", OPEN)
    assert len(await state.revisions.of(track(1))) == 12

    assert await state.revisions.trim(track(1)) == [versions[1].file_id]

    assert [kept.audio for kept in await state.revisions.of(track(1))] == versions[:1:-1]


async def test_only_the_newest_version_is_taken_back(state: State) -> None:
    """And only if it is the file that is named."""
    other = replace(AUDIO, file_id="cd" * 32)
    await put(state, AUDIO, other)
    await state.revisions.add(track(1), AUDIO, "pds", OPEN)
    await state.revisions.add(track(1), other, "pds", OPEN)

    assert await state.revisions.take_back(track(1), AUDIO.file_id) == []
    assert await state.revisions.take_back(track(1), other.file_id) == [other.file_id]
    assert [kept.audio for kept in await state.revisions.of(track(1))] == [AUDIO]


async def test_a_track_that_is_gone_has_no_versions(state: State) -> None:
    """Only files that are nobody else's are told of."""
    other = replace(AUDIO, file_id="cd" * 32)
    await put(state, AUDIO, other)
    await state.revisions.add(track(1), AUDIO, "pds", OPEN)
    await state.revisions.add(track(1), other, "pds", OPEN)
    await state.revisions.add(track(2), AUDIO, "pds", OPEN)

    assert await state.revisions.remove(track(1), Release("gone")) == [other.file_id]
    assert [one.file_id for one in await state.stored_files.of_file(other.file_id)] == [other.file_id]
    assert await state.stored_files.of_file(AUDIO.file_id) == []


async def put(state: State, *files: Audio) -> None:
    """They come into the store."""
    await state.stored_files.expect(*(original_key(file.file_id) for file in files))
