"""Probes an audio file: type, duration, tags and cover, from its bytes and not from its name.

Files are untrusted: call this in a sandboxed process (`readapi.audio.decoding.transcode.examine_file`).
"""

import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import av
import av.error
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Disposition

from readapi.audio.decoding.formats import NotAudio, Probed
from schemas.audio import MIME_TYPES, FileType
from schemas.bounds import MAX_SECONDS

MAX_COVER_BYTES = 20_000_000
MAX_PACKETS = 2_000_000  # eleven hours of Opus, fourteen of MP3
# The shortest frames of any codec, and PCM in many channels, stay below this rate.
MAX_PACKETS_PER_SECOND = 2_000
SPARE_PACKETS = 5_000  # allowed before a file must contain any audio
_BEFORE_COVER = 1_000  # packets searched for a cover

TOO_MANY_PACKETS = "This file has too many packets for a recording."

# Demuxers by FFmpeg's names: none of them follows references to other files.
_FORMATS: dict[str, FileType] = {
    "mp3": "mp3",
    "mov,mp4,m4a,3gp,3g2,mj2": "m4a",
    "aac": "aac",
    "wav": "wav",
    "aiff": "aiff",
    "flac": "flac",
    "ogg": "ogg",
    "matroska,webm": "webm",
}
_OPTIONS = {
    "format_whitelist": ",".join(_FORMATS),
    "protocol_whitelist": "file,fd",
    "enable_drefs": "0",
    "use_absolute_path": "0",
}
_COVERS = {"mjpeg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
_TEXT_LETTERS = 256


def probe_file(source: Path | int) -> Probed:
    """Read a whole file; its last packet determines the duration, not its header. Raises NotAudio."""
    try:
        with open_container(source) as container:
            return _probed(container)
    except (av.error.FFmpegError, ValueError, UnicodeError) as error:
        raise NotAudio("This file cannot be read as audio.") from error


def open_container(source: Path | int) -> InputContainer:
    """Open the file at a path or of a descriptor for reading. Raises what FFmpeg raises."""
    if isinstance(source, Path):
        return av.open(str(source), options=_OPTIONS, metadata_errors="replace")
    os.lseek(source, 0, os.SEEK_SET)
    return av.open("fd:", options={**_OPTIONS, "fd": str(source)}, metadata_errors="replace")


def find_audio_stream(container: InputContainer) -> AudioStream:
    """The first audio stream of a file that is no video. Raises NotAudio."""
    moving = [one for one in container.streams.video if not _is_cover(one.disposition)]
    if moving:
        raise NotAudio("This file is a video; only audio can be published.")
    if not container.streams.audio:
        raise NotAudio("This file contains no audio.")
    return container.streams.audio[0]


def _probed(container: InputContainer) -> Probed:
    stream = find_audio_stream(container)
    file_type = _file_type(container.format.name, stream.codec_context.name)
    cover, cover_type = _cover(container)
    seconds = _seconds(container, stream)
    said = {**stream.metadata, **container.metadata}
    texts = {name.lower(): text for name, text in said.items()}
    title, artist, album = (_text(texts.get(name)) for name in ("title", "artist", "album"))
    return Probed(file_type, MIME_TYPES[file_type], seconds, title, artist, album, cover, cover_type)


def _file_type(format_name: str, codec: str) -> FileType:
    found = _FORMATS.get(format_name)
    if found is None:
        raise NotAudio(
            "This file type is not supported; publish mp3, m4a, wav, aiff, flac, ogg, opus or webm."
        )
    return "opus" if found == "ogg" and codec in ("opus", "libopus") else found


def _seconds(container: InputContainer, stream: AudioStream) -> int:
    """The end of the last packet. The first one is decoded, so that random bytes do not pass for audio."""
    ticks = 1 / (stream.time_base or 1)
    least = float(MAX_PACKETS_PER_SECOND / ticks)  # packets a tick
    end, decoded = 0, False
    # All streams, so that packets of others than the audio stream are counted too.
    for count, packet in enumerate(container.demux(), 1):
        if count > SPARE_PACKETS + end * least or count > MAX_PACKETS:
            raise NotAudio(TOO_MANY_PACKETS)
        if packet.stream_index != stream.index:
            continue
        if not decoded and packet.size:
            decoded = bool(packet.decode())
        if packet.pts is not None:
            end = max(end, packet.pts + (packet.duration or 0))
    if not decoded or end <= 0:
        raise NotAudio("This file contains no audio.")
    seconds = math.floor((end - max(stream.start_time or 0, 0)) / ticks + Fraction(1, 2))
    if seconds > MAX_SECONDS:
        raise NotAudio("This recording is too long.")
    return seconds


def _cover(container: InputContainer) -> tuple[bytes | None, str | None]:
    for picture in container.streams.video:
        if picture.codec_context.name not in _COVERS:
            continue
        packets = itertools.islice(container.demux(), _BEFORE_COVER)
        found = next((bytes(one) for one in packets if one.stream_index == picture.index), b"")
        container.seek(0)
        if found and len(found) <= MAX_COVER_BYTES:
            return found, _COVERS[picture.codec_context.name]
    return None, None


def _is_cover(disposition: Disposition) -> bool:
    return bool(disposition & Disposition.attached_pic)


def _text(said: str | None) -> str | None:
    """One line, of printable letters, of bounded length."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in said or "").split())
    return line[:_TEXT_LETTERS] or None
