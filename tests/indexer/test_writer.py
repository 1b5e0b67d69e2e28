"""Batches go into the catalogue whole; the newest version of each record is what stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.writer import Writer
from tests import documents
from tests.indexer.changes import album, comment, contents, did, like, put, settings, uri, write

TRACK = uri("ana", "track")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    opened = Writer.open(settings(tmp_path))
    yield opened
    opened.close()


def test_a_record_of_every_type_becomes_rows(writer: Writer) -> None:
    """Five types, their child tables, the account and the counts, in one transaction."""
    write(
        writer,
        put("ana", "track", at=1, document=documents.full("track")),
        put("ana", "profile", at=2),
        album("ana", [TRACK], at=3),
        like("ben", TRACK, at=4),
        comment("ben", TRACK, at=5),
    )

    rows = {table: len(found) for table, found in contents(writer.reader()).items()}
    assert rows == {
        "accounts": 2, "comments": 1, "images": 0, "invalid_records": 0, "likes": 1, "list_items": 1, "lists": 1,
        "meta": 1, "profiles": 1, "track_counts": 1, "track_features": 1, "track_tags": 2, "tracks": 1,
    }  # fmt: skip
    assert writer.tracked == {did("ana"), did("ben")}
