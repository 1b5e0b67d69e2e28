"""Sound made for tests: a sine, in any container that can be published."""

import math
import uuid
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

# File type → container, codec and sample rate.
CONTAINERS: dict[str, tuple[str, str, int]] = {
    "mp3": ("mp3", "libmp3lame", 44_100),
    "m4a": ("ipod", "aac", 44_100),
    "aac": ("adts", "aac", 44_100),
    "wav": ("wav", "pcm_s16le", 44_100),
    "aiff": ("aiff", "pcm_s16be", 44_100),
    "flac": ("flac", "flac", 44_100),
    "ogg": ("ogg", "vorbis", 44_100),
    "opus": ("ogg", "libopus", 48_000),
    "webm": ("webm", "libopus", 48_000),
}
TAGS = {"title": "Low tide", "artist": "Mara", "album": "Harbour"}


def sound(
    path: Path, file_type: str = "wav", seconds: float = 1.0, tags: dict[str, str] | None = None
) -> Path:
    """Write a sine of 440 Hz, in stereo."""
    container_name, codec, rate = CONTAINERS[file_type]
    with av.open(str(path), "w", format=container_name) as container:
        container.metadata.update(tags or {})
        options = {"strict": "experimental"} if codec == "vorbis" else {}
        stream = container.add_stream(codec, rate=rate, options=options)
        stream.layout = "stereo"
        for frame in _frames(seconds, rate):
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)
    return path


def own_sound(folder: Path) -> Path:
    """A file that no other track has."""
    return sound(folder / "song.flac", "flac", 1.0, {"title": uuid.uuid4().hex})


def _frames(seconds: float, rate: int, length: int = 1024) -> list[av.AudioFrame]:
    frames = []
    for start in range(0, int(seconds * rate), length):
        times = np.arange(start, min(start + length, int(seconds * rate)))
        wave = (np.sin(times * 2 * math.pi * 440 / rate) * 8000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(np.repeat(wave, 2).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        frames.append(frame)
    return frames
