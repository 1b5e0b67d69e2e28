"""Small real files, made from nothing: tones as WAV and stripes as PNG."""

import io
import math
import struct
import wave
import zlib

SAMPLES_PER_SECOND = 8000
LOOP = 800  # samples after which any tone of a multiple of ten hertz begins again
Colour = tuple[int, int, int]


def tone(seconds: float, hertz: int) -> bytes:
    """A WAV file: one soft tone, mono, 8 bits; the pitch is a multiple of ten."""
    loop = bytes(
        round(128 + 80 * math.sin(2 * math.pi * hertz * at / SAMPLES_PER_SECOND)) for at in range(LOOP)
    )
    count = int(seconds * SAMPLES_PER_SECOND)
    samples = (loop * (count // LOOP + 1))[:count]
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(SAMPLES_PER_SECOND)
        sound.writeframes(samples)
    return file.getvalue()


def cover(width: int, height: int, dark: Colour, light: Colour) -> bytes:
    """A PNG file: two colours in stripes."""
    stripe = max(1, width // 8)
    pixels = b"".join(bytes(light if x // stripe % 2 else dark) for x in range(width))
    rows = (b"\0" + pixels) * height  # each row begins with the number of its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
