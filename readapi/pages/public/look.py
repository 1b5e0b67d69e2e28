"""How a site that embeds a player wants it to look: light or dark, and its colour, kept readable. Pure.

Contrast is https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
"""

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark", "auto"]
Rgb = tuple[int, int, int]

HEX = r"^(?:[0-9a-fA-F]{3}){1,2}$"
LEAST_CONTRAST = 4.5  # of text
# What the accent lies on, in player.css: of --paper and --tint the one that is nearer to it.
GROUNDS: dict[Literal["light", "dark"], Rgb] = {"light": (0xEC, 0xE8, 0xE0), "dark": (0x26, 0x24, 0x1F)}

_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_STEPS = 20


@dataclass(frozen=True, slots=True)
class Look:
    """`color`: the accent, as three or six hexadecimal digits; `auto` follows the reader's setting."""

    theme: Theme = "auto"
    color: str | None = None

    @property
    def style(self) -> str:
        """The style sheet of the colour, which holds digits of our own alone; empty without one."""
        if self.color is None:
            return ""
        wanted = read_hex(self.color)
        light, dark = _rule(readable(wanted, "light")), _rule(readable(wanted, "dark"))
        if self.theme == "auto":
            return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"
        return light if self.theme == "light" else dark


def read_hex(digits: str) -> Rgb:
    """A colour from three or six hexadecimal digits."""
    red, green, blue = (
        (digits[0:2], digits[2:4], digits[4:6]) if len(digits) == 6 else (letter * 2 for letter in digits)
    )
    return int(red, 16), int(green, 16), int(blue, 16)


def readable(wanted: Rgb, theme: Literal["light", "dark"]) -> Rgb:
    """The colour, darkened or lightened just as far as text in it needs."""
    ground, end = GROUNDS[theme], _BLACK if theme == "light" else _WHITE
    mixed = (_mix(wanted, end, step / _STEPS) for step in range(_STEPS + 1))
    return next(color for color in mixed if contrast(color, ground) >= LEAST_CONTRAST)


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def on_color(ground: Rgb) -> Rgb:
    """Black or white, whichever is easier to read on it: at least 4.5 to 1."""
    return max(_BLACK, _WHITE, key=lambda ink: contrast(ink, ground))


def _rule(accent: Rgb) -> str:
    return f"body{{--accent:{_hex(accent)};--on-accent:{_hex(on_color(accent))}}}"


def _hex(color: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def _mix(one: Rgb, other: Rgb, share: float) -> Rgb:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _luminance(color: Rgb) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in color)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
