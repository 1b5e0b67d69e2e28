"""The sandboxed process for one untrusted file: `python -m readapi.audio.decoding.transcode_process`.

It prints a JSON object a line: `progress`, then `probed` or `refused`.
"""

import importlib
import itertools
import os
import pkgutil
import resource
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import av.error
import orjson
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.container import InputContainer, OutputContainer

from readapi.audio.decoding import probe, sandbox
from readapi.audio.decoding.formats import NotAudio, Probed
from readapi.parent_watch import follow_parent

BIT_RATE = 160_000
SAMPLE_RATE = 44_100
_TO_MAKE = os.O_RDWR | os.O_CREAT | os.O_TRUNC
STEP = 0.01  # between two reports of progress


def main(source: Path, target: Path | None, cpu_seconds: int) -> None:
    """Probe the file and print the result; with a target, transcode the file too."""
    original, made = (
        os.open(source, os.O_RDONLY),
        None if target is None else os.open(target, _TO_MAKE, 0o600),
    )
    import_all()
    sandbox.enter_sandbox(made)
    follow_parent()
    # The first limit ends the process with SIGXCPU, which distinguishes too much work from a crash.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    av.logging.set_level(av.logging.PANIC)
    try:
        probed = probe.probe_file(original)
        if made is not None:
            inside = Path(f"/proc/self/fd/{made}")
            probed = render(original, inside, probed.duration or 0, lambda part: _say(progress=part))
    except (NotAudio, MemoryError) as error:
        _say(refused=str(error) or "This file takes too much memory to process.")
    else:
        _say(probed=_plain(probed))


def import_all() -> None:
    """Import all of PyAV: it loads some modules on first use, when the sandbox lets no file be read."""
    for module in pkgutil.walk_packages(av.__path__, "av."):
        if not module.name.endswith(("__main__", "datasets")):
            importlib.import_module(module.name)


def render(source: Path | int, target: Path, seconds: int, progress: Callable[[float], None]) -> Probed:
    """Make the rendition of an original that may be heard but not downloaded: AAC in MP4, index first.

    Every browser plays it, Safari included. It has none of the original's tags.
    """
    try:
        with probe.open_container(source) as original, _rendition(target) as rendition:
            stream = rendition.add_stream("aac", rate=SAMPLE_RATE, layout="stereo")
            stream.bit_rate = BIT_RATE
            for piece in _even(original, seconds, progress):
                rendition.mux(stream.encode(piece))
            rendition.mux(stream.encode(None))
    except (av.error.FFmpegError, ValueError) as error:
        raise NotAudio("This file is damaged: it cannot be decoded to its end.") from error
    return probe.probe_file(target)


def _even(original: InputContainer, seconds: int, progress: Callable[[float], None]) -> Iterator[AudioFrame]:
    """Frames resampled for the encoder. Timestamps are counted anew: those of a damaged file have gaps."""
    resampler = AudioResampler(format="fltp", layout="stereo", rate=SAMPLE_RATE)
    position, reported = 0, 0.0
    for frame in itertools.chain(original.decode(probe.find_audio_stream(original)), [None]):
        for piece in resampler.resample(frame):
            piece.pts, piece.time_base = position, Fraction(1, SAMPLE_RATE)
            position += piece.samples
            yield piece
        part = position / (SAMPLE_RATE * seconds) if seconds else 1.0
        if part >= reported + STEP:
            reported = part
            progress(min(part, 1.0))


def _rendition(target: Path) -> OutputContainer:
    return av.open(str(target), "w", format="ipod", options={"movflags": "faststart"})


def _plain(probed: Probed) -> dict[str, Any]:
    cover = None if probed.cover is None else b64encode(probed.cover).decode()
    return asdict(probed) | {"cover": cover}


def _say(**reported: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(reported) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    seconds, given, *made = sys.argv[1:]
    main(Path(given), Path(made[0]) if made else None, int(seconds))
