"""A first look tells most files that are no audio from those that may be."""

from pathlib import Path

import pytest

from readapi.audio.decoding.first_bytes import could_be_audio
from tests.network import media
from tests.readapi.audio.sounds import CONTAINERS, TAGS, sound


@pytest.mark.parametrize("file_type", CONTAINERS)
def test_every_kind_that_can_be_published_passes(file_type: str, tmp_path: Path) -> None:
    """With names in it and without, and after bytes that mean nothing where its frames may begin anywhere."""
    plain = sound(tmp_path / "plain", file_type)
    assert could_be_audio(plain)
    assert could_be_audio(sound(tmp_path / "named", file_type, tags=TAGS))
    if file_type in ("mp3", "aac"):
        (tmp_path / "late").write_bytes(bytes(5000) + plain.read_bytes()[4:])
        assert could_be_audio(tmp_path / "late")


@pytest.mark.parametrize(
    "content",
    [b"", b"no sound at all" * 100, "Füße\n".encode() * 100, media.cover(8, 8, (0, 0, 0), (9, 9, 9))],
)
def test_what_is_clearly_something_else_does_not(content: bytes, tmp_path: Path) -> None:
    """Texts and pictures."""
    (tmp_path / "a.mp3").write_bytes(content)

    assert not could_be_audio(tmp_path / "a.mp3")
