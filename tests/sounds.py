"""Fixtures of the tests that publish: a little sound."""

from pathlib import Path

import pytest

from tests.readapi.audio.sounds import sound


@pytest.fixture(scope="session")
def song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of sound that say nothing of themselves."""
    return sound(tmp_path_factory.mktemp("song") / "song.flac", "flac", 2.0)


@pytest.fixture(scope="session")
def other_song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds, of another kind."""
    return sound(tmp_path_factory.mktemp("song") / "other.mp3", "mp3", 3.0)


@pytest.fixture(scope="session")
def named_song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that says what it is."""
    tags = {"title": "Low tide", "album": "Harbour"}
    return sound(tmp_path_factory.mktemp("song") / "named.mp3", "mp3", 1.0, tags)
