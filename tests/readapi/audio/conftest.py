"""What the tests of audio share: a store of each kind."""

import itertools
from pathlib import Path

import pytest

from readapi.audio.store import AudioStore
from schemas.settings import Settings
from tests.readapi.audio.bucket import bucket_url

BUCKETS = itertools.count()


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AudioStore:
    """An empty store, so that each test of it runs on a folder and on S3."""
    if request.param == "folder":
        return AudioStore.of(Settings(data_dir=tmp_path / "data"))
    url = bucket_url(request.getfixturevalue("s3"), f"bucket-{next(BUCKETS)}")
    return AudioStore.of(Settings(data_dir=tmp_path / "data", audio_url=url))
