"""What the tests of audio share: a store of each kind."""

import itertools
from pathlib import Path

import pytest

from readapi.audio.store import AudioStore
from schemas.settings import Settings
from tests.readapi.audio.bucket import bucket_url

BUCKETS = itertools.count()
KINDS = ["folder", "s3"]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AudioStore:
    """An empty store, so that each test of it runs on a folder and on S3."""
    return AudioStore.of(Settings(data_dir=tmp_path / "data", **_where(request)))


@pytest.fixture(scope="module", params=KINDS)
def kept_in(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings by which a module's worker keeps audio in a folder, and then on S3."""
    return _where(request)


def _where(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "folder":
        return {}
    return {"audio_url": bucket_url(request.getfixturevalue("s3"), f"bucket-{next(BUCKETS)}")}
