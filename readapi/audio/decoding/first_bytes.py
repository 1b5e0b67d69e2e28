"""A quick check of a file's first bytes, which refuses most files that are not audio at once.

`readapi.audio.decoding.transcode.examine_file` does the full check.
"""

from pathlib import Path

LOOK_BYTES = 64 << 10
_BEGINNINGS = (b"ID3", b"fLaC", b"OggS", b"RIFF", b"RF64", b"FORM", b"ADIF", b"\x1aE\xdf\xa3")
_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")


def could_be_audio(path: Path) -> bool:
    """True for every file that may be audio, and for some that are not."""
    with path.open("rb") as file:
        beginning = file.read(LOOK_BYTES)
    if beginning.startswith(_BEGINNINGS) or beginning[4:8] in _ATOMS:
        return True
    return _has_frame(beginning)


def _has_frame(beginning: bytes) -> bool:
    """Whether an MP3 or AAC frame begins anywhere: eleven set bits, then a valid version and layer."""
    at = beginning.find(b"\xff")
    while at != -1 and at + 1 < len(beginning):
        second = beginning[at + 1]
        is_mpeg = second & 0xE0 == 0xE0 and second & 0x18 != 0x08 and second & 0x06 != 0
        if is_mpeg or second & 0xF6 == 0xF0:
            return True
        at = beginning.find(b"\xff", at + 1)
    return False
