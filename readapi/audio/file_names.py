"""Names of downloaded files: safe on every system, and sent as RFC 6266 and RFC 8187 specify. Pure."""

from urllib.parse import quote

from schemas.normal_form import normalise

_NEVER = frozenset('/\\:*?"<>|%')
_LETTERS = 120
_BYTES = 200  # file systems hold 255 in a name, and archives put a number before it
_UNNAMED = "track"


def file_name(artist: str, title: str, file_type: str) -> str:
    """`Artist - Title.mp3` from untrusted text: no path separators, no control characters, bounded."""
    stem = safe_file_name(f"{artist} - {title}")
    ending = "".join(letter for letter in file_type.lower() if letter.isascii() and letter.isalnum())[:8]
    return f"{stem}.{ending}" if ending else stem


def safe_file_name(words: str) -> str:
    """Text as the name of a file, without its extension."""
    shown = (letter if _is_fit(letter) else " " for letter in normalise("NFC", words))
    short = " ".join("".join(shown).split())[:_LETTERS].encode()[:_BYTES].decode(errors="ignore")
    return short.strip(" .") or _UNNAMED


def attachment_header(name: str) -> str:
    """The Content-Disposition of a download: the name in ASCII, and in full for browsers that support it."""
    ascii_only = normalise("NFKD", name).encode("ascii", "ignore").decode()
    plain = "".join(filter(_is_fit, ascii_only))  # NFKD makes full-width quotes plain
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _is_fit(letter: str) -> bool:
    return letter not in _NEVER and letter.isprintable()
