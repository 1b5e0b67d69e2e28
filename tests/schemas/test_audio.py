"""Addresses of audio stand for files."""

import pytest

from schemas.audio import audio_address, file_of, managed_file

BASE = "https://music.example"
FILE = "ab" * 32


def test_an_address_of_ours_is_the_file_that_it_names():
    """Its own hash."""
    url = audio_address(BASE, FILE)

    assert url == f"https://music.example/audio/{FILE}/stream"
    for named in (url, f"https://music.example/audio/{FILE}"):
        assert managed_file(named, BASE) == file_of(named, BASE) == FILE


@pytest.mark.parametrize(
    "url",
    [
        f"https://other.example/audio/{FILE}",
        f"https://music.example/audio/{FILE[:-1]}",
        f"https://music.example/audio/{FILE}/download",
        f"/audio/{FILE}/stream",
        f"https://music.example/audio/{FILE.upper()}",
        "https://music.example/audio/",
        FILE,
    ],
)
def test_any_other_address_is_known_by_its_own_hash(url):
    """Because nobody but its server knows what lies there."""
    assert managed_file(url, BASE) is None
    assert file_of(url, BASE) != FILE
    assert len(file_of(url, BASE)) == 64
