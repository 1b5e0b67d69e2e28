"""Small real files, made from nothing: tones as WAV, stripes as PNG, and Ogg that is dear to read."""

import io
import math
import struct
import wave
import zlib

SAMPLES_PER_SECOND = 8000
LOOP = 800  # samples after which any tone of a multiple of ten hertz begins again
OPUS_RATE = 48_000
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
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


def tiny_packets(pages: int, *, spread: bool) -> bytes:
    """An Ogg file of Opus: so many pages of 255 packets, each of one byte, which is silence of 20 ms.

    `spread`: their times say so; else all packets are told to be at one moment.
    """
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 2, 0, OPUS_RATE, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 1) + b"x" + struct.pack("<I", 0)
    samples = 255 * OPUS_RATE // 50
    silence = [b"\xfc"] * 255
    times = [samples * number if spread else samples for number in range(1, pages + 1)]
    return b"".join(
        [_ogg_page([head], 2, 0), _ogg_page([tags], 0, 0), *(_ogg_page(silence, 0, at) for at in times)]
    )


def _ogg_page(packets: list[bytes], flags: int, position: int) -> bytes:
    lengths = bytes(len(packet) for packet in packets)
    head = b"OggS" + struct.pack("<BBqIII", 0, flags, position, 7, 0, 0) + bytes([len(lengths)]) + lengths
    page = head + b"".join(packets)
    return page[:22] + struct.pack("<I", _ogg_checksum(page)) + page[26:]


def _ogg_checksum(page: bytes) -> int:
    """CRC-32 as Ogg takes it: zlib's with the bits of all bytes in the other order, and nothing inverted."""
    mirrored = zlib.crc32(page.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
