"""Makes untrusted text safe for places without markup: attributes, page titles, XML, script data."""

import re
from datetime import datetime

import orjson

# XML forbids most control characters outright; in HTML they are errors or end a line where none was meant.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Where nothing isolates a text, an unclosed override would turn round what follows it.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CLOCK = re.compile(r"[0-9]{1,5}(?::[0-9]{1,2}){0,2}")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SCRIPT_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    ord("\u2028"): "\\u2028",
    ord("\u2029"): "\\u2029",
}


def drop_unprintable(text: str) -> str:
    """Drop what neither HTML nor XML can carry."""
    return _UNPRINTABLE.sub("", text)


def one_line(text: str, longest: int = 300) -> str:
    """One line without direction marks, cut at a length with an ellipsis."""
    # Printable text has neither unprintable characters nor direction marks, and no space but U+0020.
    shown = text if text.isprintable() else _DIRECTIONS.sub("", drop_unprintable(text))
    words = " ".join(shown.split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def script_data(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or a line."""
    return orjson.dumps(value).decode().translate(_SCRIPT_ESCAPES)


def format_clock(seconds: int) -> str:
    """Seconds as a player shows them: 3:07, 1:02:03."""
    minutes, rest = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def parse_clock(written: str) -> int | None:
    """Seconds from a clock's text, such as `3:07` or `187`; None for anything else."""
    if _CLOCK.fullmatch(written.strip()) is None:
        return None
    seconds = 0
    for part in written.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds


def iso_duration(seconds: int) -> str:
    """Seconds as ISO 8601 writes a duration: PT187S."""
    return f"PT{max(seconds, 0)}S"


def is_web_address(url: str | None) -> bool:
    """True for an address that a link or an image may use."""
    return url is not None and url.startswith(("https://", "http://"))


def format_day(time: str) -> str:
    """The day of an RFC 3339 time, as people write it: 3 May 2026."""
    date = datetime.fromisoformat(time)
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"


def format_count(count: int, noun: str) -> str:
    """A count with its noun: 1 track, 1,200 tracks."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
