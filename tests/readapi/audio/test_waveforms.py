"""A track's waveform is measured after its first stream, and shown to who may listen."""

import io
import math
import os
import struct
import wave
from pathlib import Path

import pytest

from readapi.audio.decoding.waveform_process import scale_peaks
from schemas.audio import BARS
from tests.indexer.running import until
from tests.readapi.audio.listening import Listening, listening

SUPPORTERS = {"listening": "supporters", "downloads": "off", "visibility": "public"}
DRAWN = '<svg class="wave"'


def crescendo() -> bytes:
    """Two seconds: the first half is quiet, the second loud."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", "not compressed"))
        loud = (1000 if at < 8000 else 20000 for at in range(16000))
        samples = (round(height * math.sin(at / 3)) for at, height in enumerate(loud))
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return made.getvalue()


async def measured(stage: Listening, count: int) -> list[bytes]:
    """What is kept, once there are so many."""
    folder = stage.music.settings.data_dir / "waveforms"
    await until(lambda: folder.exists() and len(os.listdir(folder)) >= count and not [*folder.glob("*.part")])
    return [path.read_bytes() for path in folder.iterdir()]


def test_peaks_are_those_of_equal_parts_of_the_loudest() -> None:
    """Also of a recording with fewer windows than bars."""
    assert scale_peaks([*[1] * BARS, *[2] * BARS]) == bytes([127] * 100 + [255] * 100)
    assert scale_peaks([0]) == bytes(BARS)
    assert len(scale_peaks([5, 10])) == BARS


@pytest.mark.slow
async def test_a_waveform_follows_the_first_stream(tmp_path: Path) -> None:
    """Quiet parts are low; it is measured once."""
    async with listening(tmp_path) as stage:
        track = await stage.publish(crescendo(), "mara", 50)
        before = (await stage.music.get(f"/track/{track}", Accept="text/html")).json

        for _ in range(2):
            assert (await stage.music.get(f"/tracks/{track}/stream")).status == 200
        (peaks,) = await measured(stage, 1)
        stage.music.stores.index.takedowns.number += 1  # no answer that was kept counts any more
        after = (await stage.music.get(f"/track/{track}", Accept="text/html")).json

    assert DRAWN not in before
    assert DRAWN in after
    assert len(peaks) == BARS
    assert max(peaks[:95]) < 20
    assert min(peaks[105:]) > 240


async def test_a_waveform_is_shown_to_who_may_listen(tmp_path: Path) -> None:
    """A supporter's listening measures it; a stranger sees none."""
    async with listening(tmp_path) as stage:
        track = await stage.publish(crescendo(), "mara", 50, crescendo(), access=SUPPORTERS)
        stage.let_support("ida", "mara")
        ida, ben = await stage.as_("ida"), await stage.as_("ben")

        assert (await stage.music.get(f"/tracks/{track}/stream", **ben)).status == 402
        assert (await stage.music.get(f"/tracks/{track}/stream", **ida)).status == 200
        await measured(stage, 1)
        stage.music.stores.index.takedowns.number += 1
        shown = [
            DRAWN in (await stage.music.get(f"/track/{track}", Accept="text/html", **who)).json
            for who in ({}, ben, ida)
        ]

    assert shown == [False, False, True]


async def test_what_cannot_be_measured_is_tried_once(tmp_path: Path) -> None:
    """An empty file stands for it; the page has no drawing."""
    async with listening(tmp_path) as stage:
        track = await stage.publish(b"no sound", "mara", 50)

        await stage.music.get(f"/tracks/{track}/stream")
        kept = await measured(stage, 1)
        page = (await stage.music.get(f"/track/{track}", Accept="text/html")).json

    assert kept == [b""]
    assert DRAWN not in page
