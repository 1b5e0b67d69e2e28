"""Whether a browser goes to an address to show what is there as a page, or a program or a player reads it."""

from collections.abc import Mapping

from readapi.accept import Accept

VARIES = ("Accept", "Sec-Fetch-Dest", "Sec-Fetch-Mode")  # the headers that tell
_SHOWN = frozenset({"document", "embed", "fencedframe", "frame", "iframe", "object"})


def is_to_page(headers: Mapping[str, str]) -> bool:
    """Browsers say so themselves; old ones that do not are known by asking for HTML."""
    mode, shown_as = headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")
    if mode is None and shown_as is None:
        return Accept(headers.get("Accept", "")).prefers("text/html", "audio/*")
    return mode == "navigate" or shown_as in _SHOWN
