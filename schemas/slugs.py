"""Slugs: an album's name as the last part of its address. Pure."""

import unicodedata

from schemas.normal_form import normalise

MAX_LETTERS = 80
UNNAMED = "untitled"


def slug(name: str) -> str:
    """Letters and digits of any script, everything else a hyphen: `slug("Été — Vol. 2") == "été-vol-2"`."""
    text = normalise("NFKC", normalise("NFKC", name).casefold())
    kept = "".join(letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in text)
    return "-".join(kept.split())[:MAX_LETTERS].strip("-") or UNNAMED


def same_name(name: str) -> str:
    """The form in which album names are compared, when a track names its album."""
    return normalise("NFKC", name).casefold().strip()
