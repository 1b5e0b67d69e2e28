"""Object stores: a folder, and a real distributed S3."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from indexer.replication.objects import Objects
from tests.indexer.replication.origin import Origin, open_origin
from tests.seaweedfs import prefix_url


@pytest.fixture(params=["folder", "s3"])
def each_objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """An empty store of each kind."""
    if request.param == "folder":
        return Objects.open(f"file://{tmp_path}/objects")
    return Objects.open(prefix_url(request.getfixturevalue("seaweedfs"), uuid.uuid4().hex))


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    """An empty store in a folder."""
    return Objects.open(f"file://{tmp_path}/objects")


@pytest.fixture
async def origin(tmp_path: Path, objects: Objects) -> AsyncIterator[Origin]:
    """An indexer's data folder that is published to a folder."""
    async with open_origin(tmp_path / "origin", objects) as opened:
        yield opened
