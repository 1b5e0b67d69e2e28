"""A file's type, length and names are told by its bytes."""

from pathlib import Path

import pytest

from readapi.audio.decoding.formats import NotAudio
from readapi.audio.decoding.probe import probe_file
from schemas.audio import MIME_TYPES
from tests.readapi.audio.sounds import CONTAINERS, TAGS, sound


@pytest.mark.parametrize("file_type", CONTAINERS)
def test_each_kind_of_file_is_known_by_its_content(file_type: str, tmp_path: Path) -> None:
    """Whatever it is called; its length is measured."""
    found = probe_file(sound(tmp_path / "a.txt", file_type, seconds=2))

    assert found.file_type == file_type
    assert found.mime_type == MIME_TYPES[found.file_type]
    assert found.duration == 2


def test_every_kind_that_can_be_published_is_tried() -> None:
    """A new one fails here until a file of it is made."""
    assert CONTAINERS.keys() == MIME_TYPES.keys()


@pytest.mark.parametrize("file_type", ["mp3", "m4a", "flac", "opus"])
def test_what_a_file_says_of_itself_is_read(file_type: str, tmp_path: Path) -> None:
    """Title, artist and album."""
    found = probe_file(sound(tmp_path / "a", file_type, tags=TAGS))

    assert (found.title, found.artist, found.album) == ("Low tide", "Mara", "Harbour")


def test_names_in_a_file_are_one_line_of_bounded_length(tmp_path: Path) -> None:
    """Line breaks and control letters are spaces, and what is too long is cut."""
    found = probe_file(sound(tmp_path / "a", "flac", tags={"title": "a\nb\x07c" + "d" * 999, "artist": "\t"}))

    assert found.title == ("a b c" + "d" * 999)[:256]
    assert found.artist is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not audio at all",
        b"RIFF\xff\xff\xff\xffWAVEfmt ",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"ID3" + bytes(200),
        b"OggS" + bytes(4000),
        b"\x1aE\xdf\xa3" + b"\xff" * 4000,
    ],
)
def test_what_is_no_audio_is_refused_with_a_sentence(content: bytes, tmp_path: Path) -> None:
    """Neither noise nor a list of other files."""
    (tmp_path / "a.mp3").write_bytes(content)

    with pytest.raises(NotAudio, match=r"^[A-Z].*\.$"):
        probe_file(tmp_path / "a.mp3")


@pytest.mark.parametrize("file_type", CONTAINERS)
def test_half_a_file_is_read_as_far_as_it_goes(file_type: str, tmp_path: Path) -> None:
    """Or refused; never anything else."""
    whole = sound(tmp_path / "whole", file_type, seconds=2).read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])

    try:
        found = probe_file(tmp_path / "half")
    except NotAudio:
        return
    assert found.duration is not None
    assert 0 <= found.duration <= 2
