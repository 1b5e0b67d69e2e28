"""Draws the picture in link previews of pages that have none: bars like a waveform's, by a seed."""

import io
from colorsys import hls_to_rgb
from hashlib import shake_128
from typing import Final

from PIL import Image, ImageDraw

SIZE: Final = (1200, 630)
BARS: Final = 60
_BACKGROUND, _LIT, _DIM = range(3)


def draw_picture(seed: str) -> bytes:
    """A PNG of SIZE in three colours; the same for the same seed."""
    hashed = shake_128(seed.encode()).digest(2 + BARS)
    picture = Image.new("P", SIZE, _BACKGROUND)
    picture.putpalette(_palette(hashed[0] / 256))
    pen, (width, height) = ImageDraw.Draw(picture), SIZE
    lit = BARS * (64 + hashed[1] // 2) // 256  # as in a player: what was heard
    step = width // BARS
    for number, loudness in enumerate(hashed[2:]):
        edge = min(number, BARS - 1 - number) / (BARS / 2)  # quieter at both ends
        half = round(height * (0.04 + 0.32 * loudness / 255 * (0.4 + 0.6 * edge)))
        left = number * step + step // 4
        box = (left, height // 2 - half, left + step // 2, height // 2 + half)
        pen.rectangle(box, fill=_LIT if number < lit else _DIM)
    made = io.BytesIO()
    picture.save(made, "PNG")
    return made.getvalue()


def _palette(hue: float) -> list[int]:
    """The three colours, as Pillow takes them: red, green and blue of each from 0 to 255."""
    colours = (hue, 0.16, 0.45), ((hue + 0.08) % 1, 0.72, 0.6), (hue, 0.34, 0.35)
    return [round(255 * part) for colour in colours for part in hls_to_rgb(*colour)]
