"""Merging segments gives way to everything else in the process."""

import os
from pathlib import Path

import pytest

from indexer.catalog.writing.writer import Writer
from indexer.search.index import SearchIndex
from indexer.search.merge_threads import NICE, merge_threads
from schemas import data_folder
from tests.indexer.changes import put, write


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux has a priority for each thread")
def test_merging_has_a_lower_priority_than_the_rest(writer: Writer, tmp_path: Path) -> None:
    """As soon as the index has followed a step."""
    write(writer, put("ana", "track", at=1))
    index = SearchIndex.open(tmp_path / data_folder.SEARCH, "https://music.example")
    with writer.reader() as con:
        index.follow(con)
    priorities = [os.getpriority(os.PRIO_PROCESS, task) for task in merge_threads()]
    index.close()

    assert priorities
    assert set(priorities) == {os.getpriority(os.PRIO_PROCESS, os.getpid()) + NICE}
