"""What the indexer's tests share: a catalogue of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.writer import Writer
from tests.indexer.changes import settings


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """An empty catalogue in the test's folder."""
    opened = Writer.open(settings(tmp_path))
    yield opened
    opened.close()
