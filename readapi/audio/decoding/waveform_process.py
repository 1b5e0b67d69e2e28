"""The sandboxed process that measures how loud an untrusted recording is, from its beginning to its end.

`python -m readapi.audio.decoding.waveform_process` prints a JSON object: `peaks`, BARS numbers from 0 to 255
in base64, or `refused`.
"""

import itertools
import os
import resource
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final

import av
import av.error
import orjson
from av.audio.resampler import AudioResampler

from readapi.audio.decoding import probe, sandbox
from readapi.audio.decoding.formats import NotAudio
from readapi.audio.decoding.transcode_process import import_all
from readapi.parent_watch import follow_parent
from schemas.audio import BARS

_RATE: Final = 8_000
_WINDOW: Final = 400  # samples, of which the loudest counts: a twentieth of a second
_LOUDEST: Final = 1 << 15


def main(path: str, cpu_seconds: int) -> None:
    """Measure the recording and print the result."""
    opened = os.open(path, os.O_RDONLY)
    import_all()
    sandbox.enter_sandbox()
    follow_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    av.logging.set_level(av.logging.PANIC)
    try:
        peaks = scale_peaks(list(_windows(opened)))
    except (NotAudio, av.error.FFmpegError, ValueError, MemoryError) as error:
        reported = {"refused": str(error)}
    else:
        reported = {"peaks": b64encode(peaks).decode()}
    sys.stdout.buffer.write(orjson.dumps(reported) + b"\n")
    sys.stdout.buffer.flush()


def scale_peaks(windows: Sequence[int]) -> bytes:
    """The loudest of each of BARS equal parts, the loudest of all as 255. Raises ValueError for none."""
    if not windows:
        raise ValueError("This recording is empty.")
    starts = [bar * len(windows) // BARS for bar in range(BARS + 1)]
    parts = (windows[start : max(stop, start + 1)] for start, stop in itertools.pairwise(starts))
    loudest = max(max(windows), 1)
    return bytes(255 * max(part) // loudest for part in parts)


def _windows(file: int) -> Iterator[int]:
    """The largest amplitude of each window."""
    resampler = AudioResampler(format="s16", layout="mono", rate=_RATE, frame_size=_WINDOW)
    with probe.open_container(file) as container:
        frames = container.decode(probe.find_audio_stream(container))
        for frame in itertools.chain(frames, [None]):
            for piece in resampler.resample(frame):
                samples = memoryview(bytes(piece.planes[0])).cast("h")[: piece.samples]
                yield min(max(max(samples), -min(samples)), _LOUDEST - 1)


if __name__ == "__main__":
    seconds, given = sys.argv[1:]
    main(given, int(seconds))
