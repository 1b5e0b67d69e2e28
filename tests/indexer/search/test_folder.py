"""An index folder is opened again after anything that may have happened to its writer."""

import shutil
from pathlib import Path

import orjson

from indexer.search.folder import IndexFolder
from schemas import search_index


def write(folder: Path, title: str, op: int) -> None:
    """One commit that replaces two documents of ten."""
    index = IndexFolder.open(folder, search_index.catalog_schema())
    names = [f"track:{number}" for number in range(10 if op == 1 else 2)]
    index.drop(names)
    index.add({"doc": name, "kind": "track", "title": title} for name in names)
    index.commit(op)
    index.close()


def test_a_commit_that_was_cut_short_can_be_made_again(tmp_path: Path) -> None:
    """Killed after the lists of deleted documents were written, but before the commit counted."""
    folder, before = tmp_path / "index", tmp_path / "before"
    write(folder, "first", 1)
    shutil.copytree(folder, before)
    write(folder, "second", 2)
    managed = {
        name for path in (before, folder) for name in orjson.loads((path / ".managed.json").read_bytes())
    }
    for path in before.iterdir():
        if path.name == "meta.json" or not (folder / path.name).exists():
            shutil.copy(path, folder)
    (folder / ".managed.json").write_bytes(orjson.dumps(sorted(managed)))

    write(folder, "second", 2)

    index = IndexFolder.open(folder, search_index.catalog_schema())
    assert index.watermark == 2
    index.close()
