"""The files of a committed state are all there, whatever is committed and removed meanwhile."""

import shutil
from pathlib import Path
from typing import Any

from indexer.replication.manifest import META, SEARCH_FOLDERS, Stored
from indexer.replication.objects import Objects
from indexer.replication.publish.search_files import committed
from tests.indexer.replication.origin import open_origin


class Committing(dict[str, Stored]):
    """No published files. A look-up in it, before files are opened, commits other `meta.json`."""

    def __init__(self, data_dir: Path, metas: dict[str, bytes]) -> None:
        self._data_dir = data_dir
        self._metas = metas

    def get(self, *_: Any) -> None:
        for path, content in self._metas.items():
            (self._data_dir / path).write_bytes(content)


async def test_a_state_whose_files_are_being_removed_is_not_published(
    objects: Objects, tmp_path: Path
) -> None:
    """After a merge the files of the old segments are removed one by one, in any order."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        async with open_origin(folder, objects) as origin:
            await origin.write(folder.name)
    metas = {f"{name}/{META}": (after / name / META).read_bytes() for name in SEARCH_FOLDERS}
    for name in SEARCH_FOLDERS:
        for terms in (before / name).glob("*.term"):
            terms.unlink()
        for path in (after / name).iterdir():
            if path.name != META:
                shutil.copy(path, before / name)
    with committed(after, {}) as (files, _):
        whole = sorted(file.path for file in files)

    with committed(before, Committing(before, metas)) as (files, opened):
        assert sorted(file.path for file in files) == whole
        assert sorted(file.path for file in opened) == whole
