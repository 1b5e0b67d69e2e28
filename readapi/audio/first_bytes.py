"""Could these bytes begin an audio file? A first look, so that most other files are refused at once.

Everything else about a file is found out by `readapi.audio.renditions.examine`.
"""

from pathlib import Path

LOOK_BYTES = 64 << 10
_BEGINNINGS = (b"ID3", b"fLaC", b"OggS", b"RIFF", b"RF64", b"FORM", b"ADIF", b"\x1aE\xdf\xa3")
_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")


def could_be_audio(path: Path) -> bool:
    """True for everything that might be read as audio, and for some that will not."""
    with path.open("rb") as file:
        beginning = file.read(LOOK_BYTES)
    if beginning.startswith(_BEGINNINGS) or beginning[4:8] in _ATOMS:
        return True
    return _has_frame(beginning)


def _has_frame(beginning: bytes) -> bool:
    """MP3 and AAC may begin anywhere: with eleven bits that are set, a version and a layer that exist."""
    at = beginning.find(b"\xff")
    while at != -1 and at + 1 < len(beginning):
        second = beginning[at + 1]
        is_mpeg = second & 0xE0 == 0xE0 and second & 0x18 != 0x08 and second & 0x06 != 0
        if is_mpeg or second & 0xF6 == 0xF0:
            return True
        at = beginning.find(b"\xff", at + 1)
    return False
