"""What the tests of audio share: an S3 server, and a store of each kind."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from readapi.audio.store import AudioStore
from schemas.settings import Settings
from tests.readapi.audio.bucket import bucket_url, running_s3

BUCKETS = itertools.count()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The session's S3 server."""
    with running_s3() as address:
        yield address


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AudioStore:
    """An empty store, so that each test of it runs on a folder and on S3."""
    if request.param == "folder":
        return AudioStore.of(Settings(data_dir=tmp_path / "data"))
    url = bucket_url(request.getfixturevalue("s3"), f"bucket-{next(BUCKETS)}")
    return AudioStore.of(Settings(data_dir=tmp_path / "data", audio_url=url))
