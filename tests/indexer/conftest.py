"""What the indexer's tests share: a catalogue of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.catalog.writing.writer import Writer
from tests.indexer import empty_catalogues
from tests.indexer.changes import settings


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """An empty catalogue in the test's folder."""
    empty_catalogues.begin(tmp_path)
    opened = Writer.open(settings(tmp_path))
    yield opened
    opened.close()
