"""Files of strangers are read in a process with limits, and renditions can be played anywhere."""

import asyncio
import os
import resource
import time
from pathlib import Path

import av
import pytest

from readapi.audio.decoding import transcode
from readapi.audio.decoding.formats import Interrupted, NotAudio
from tests.network import media
from tests.readapi.audio.sounds import TAGS, sound


async def test_a_file_is_examined(tmp_path: Path) -> None:
    """What is found comes back whole."""
    found = await transcode.examine_file(sound(tmp_path / "a", "flac", seconds=2, tags=TAGS))

    assert (found.file_type, found.duration, found.title) == ("flac", 2, "Low tide")


async def test_what_is_no_audio_is_refused(tmp_path: Path) -> None:
    """In a sentence."""
    (tmp_path / "a").write_bytes(b"no audio")

    with pytest.raises(NotAudio, match=r"^This file cannot be read as audio\.$"):
        await transcode.examine_file(tmp_path / "a")


@pytest.mark.parametrize("file_type", ["flac", "mp3", "opus"])
async def test_a_rendition_is_aac_in_mp4(file_type: str, tmp_path: Path) -> None:
    """Of the same length, whatever the original is, without the names that the original holds."""
    original = sound(tmp_path / "original", file_type, seconds=2, tags=TAGS)

    made = await transcode.render_file(original, tmp_path / "made", 2, lambda _: None)

    assert (made.file_type, made.duration, made.title) == ("m4a", 2, None)
    with av.open(str(tmp_path / "made")) as container:
        assert container.streams.audio[0].codec_context.name == "aac"


async def test_a_rendition_can_be_played_from_its_first_bytes(tmp_path: Path) -> None:
    """Its index comes before its sound."""
    await transcode.render_file(sound(tmp_path / "original"), tmp_path / "made", 1, lambda _: None)

    made = (tmp_path / "made").read_bytes()
    assert made.index(b"moov") < made.index(b"mdat")


async def test_progress_is_told(tmp_path: Path) -> None:
    """As a part of the whole, rising, not for every piece."""
    told: list[float] = []

    await transcode.render_file(sound(tmp_path / "original", seconds=20), tmp_path / "made", 20, told.append)

    assert told == sorted(told)
    assert 20 <= len(told) <= 100
    assert 0.9 < told[-1] <= 1.0


@pytest.mark.slow
async def test_a_rendition_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    """Neither a file nor a process."""
    begun = asyncio.Event()
    original = sound(tmp_path / "original", seconds=600)
    rendering = asyncio.create_task(
        transcode.render_file(original, tmp_path / "made", 600, lambda _: begun.set())
    )
    await begun.wait()

    rendering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rendering

    assert not (tmp_path / "made").exists()
    assert not _readers(tmp_path)


async def test_a_file_that_never_ends_is_given_up(tmp_path: Path) -> None:
    """After the time that one file is allowed."""
    os.mkfifo(tmp_path / "endless")
    started = time.monotonic()

    with pytest.raises(NotAudio, match="limits"):
        await transcode.examine_file(tmp_path / "endless", seconds=1)

    assert time.monotonic() - started < 5
    assert not _readers(tmp_path)


async def test_a_file_that_wants_too_much_memory_is_refused(tmp_path: Path) -> None:
    """What it says of its own size is not believed."""
    claim = (0x7FFFFFF0).to_bytes(4, "big")
    atoms = b"".join(claim + name + b"\xff" * 64 for name in (b"moov", b"stsz", b"stts"))
    (tmp_path / "a").write_bytes(b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42" + atoms)

    with pytest.raises(NotAudio):
        await transcode.examine_file(tmp_path / "a")


async def test_a_file_of_tiny_packets_costs_no_more_than_any_other(tmp_path: Path) -> None:
    """Whether its packets say how long they are or not: those are counted, and so is the work on them."""
    silent, slow = tmp_path / "silent.ogg", tmp_path / "slow.ogg"
    silent.write_bytes(media.tiny_packets(2_000, spread=False))
    slow.write_bytes(media.tiny_packets(7_000, spread=True))

    with pytest.raises(NotAudio, match="too many packets"):
        await transcode.examine_file(silent)
    of_silent = _cpu_seconds()
    with pytest.raises(NotAudio, match="takes too long to process") as refused:
        await transcode.examine_file(slow, cpu_seconds=1)

    assert not isinstance(refused.value, Interrupted)  # trying again would cost as much again
    assert _cpu_seconds() - of_silent < 3


async def test_long_recordings_hold_up_no_short_ones(tmp_path: Path) -> None:
    """However many wait to be rendered."""
    long, short = sound(tmp_path / "long", seconds=300), sound(tmp_path / "short")
    week = 7 * 24 * 3600
    begun = asyncio.Event()
    rendering = [
        asyncio.create_task(
            transcode.render_file(long, tmp_path / f"made-{number}", week, lambda _: begun.set())
        )
        for number in range(4)
    ]
    await begun.wait()

    made = await transcode.render_file(short, tmp_path / "made", 1, lambda _: None)
    running = len(_readers(tmp_path))

    for task in rendering:
        task.cancel()
    await asyncio.gather(*rendering, return_exceptions=True)
    assert made.duration == 1
    assert running <= transcode.LONG_RENDERED_AT_ONCE


def _cpu_seconds() -> float:
    """Of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _readers(folder: Path) -> list[str]:
    """The processes that still read a file of this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_text()
        except OSError:
            continue
        if "readapi.audio.decoding.transcode_process" in command and str(folder) in command:
            found.append(command)
    return found


async def test_files_are_examined_a_few_at_a_time(tmp_path):
    """However many are sent at once: each takes a process."""
    file, most = sound(tmp_path / "a"), 0
    examining = asyncio.gather(*(transcode.examine_file(file) for _ in range(2 * transcode.EXAMINED_AT_ONCE)))
    while not examining.done():
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        readers = [
            child for child in children if b"readapi.audio.decoding.transcode_process" in _command(child)
        ]
        most = max(most, len(readers))
        await asyncio.sleep(0.005)

    assert len(await examining) == 2 * transcode.EXAMINED_AT_ONCE
    assert 1 < most <= transcode.EXAMINED_AT_ONCE


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
