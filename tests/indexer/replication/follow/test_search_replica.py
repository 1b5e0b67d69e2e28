"""Search indexes that follow: every state is whole, whatever is killed between which two renames."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.replication.follow.search_replica import Outdated, SearchReplica
from indexer.replication.manifest import stored_of
from indexer.replication.objects import Objects, ObjectsAway
from readapi.index.lookups import Index
from tests.indexer.replication.origin import Origin, current, documents


class Killed(BaseException):
    """The process ends here."""


def killed_after(renames: int) -> Callable[[Path, Path], None]:
    """Renames so many files, and not one more."""
    left = iter(range(renames))

    def rename(source: Path, target: Path) -> None:
        if next(left, None) is None:
            raise Killed
        os.replace(source, target)

    return rename


async def test_a_follower_has_what_the_origin_has(origin: Origin, objects: Objects, tmp_path: Path) -> None:
    """After every commit, merges included, with no file more than it needs."""
    replica, folder = SearchReplica(objects, tmp_path / "node"), tmp_path / "node"
    for title in "abcdefghij":
        await origin.write(title, "same")
        await origin.publish()
        await replica.show(await current(objects))
        assert documents(folder) == documents(origin.folder)
    await replica.show(await current(objects))

    here = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    wanted = set((await current(objects)).files)
    assert wanted <= here
    assert {path.rpartition("/")[2][0] for path in here - wanted} <= {"."}


async def test_a_follower_killed_between_two_renames_shows_a_whole_state(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """The old one or the new one; the next start goes on from there."""
    folder, kills = tmp_path / "node", 0
    await origin.write("old")
    await origin.publish()
    await SearchReplica(objects, folder).show(await current(objects))
    worker = Index(folder, "http://fmsvc.test")
    worker.refresh()
    old, op = worker.op, await origin.write("new", "old")
    await origin.publish()
    manifest = await current(objects)
    while True:
        try:
            await SearchReplica(objects, folder, killed_after(1)).show(manifest)
        except Killed:
            fresh = Index(folder, "http://fmsvc.test")
            fresh.refresh()
            worker.refresh()
            assert fresh.is_open
            assert fresh.op == worker.op == old
            kills += 1
        else:
            break

    worker.refresh()
    assert kills > 10
    assert worker.op == op
    assert documents(folder) == documents(origin.folder)


async def test_what_is_there_from_before_a_restart_is_not_fetched_again(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """Unless it is damaged."""
    folder = tmp_path / "node"
    await origin.write("one")
    await origin.publish()
    manifest = await current(objects)
    await SearchReplica(objects, folder).show(manifest)
    again = SearchReplica(objects, folder)
    await again.show(manifest)
    assert again.fetched_bytes == 0
    path, file = next((path, file) for path, file in stored_of(manifest).items() if path.endswith(".store"))
    (folder / path).write_bytes(bytes(file.size))

    repaired = SearchReplica(objects, folder)
    await repaired.show(manifest)

    assert repaired.fetched_bytes == file.size
    assert documents(folder) == documents(origin.folder)


async def test_what_arrives_damaged_is_not_shown(origin: Origin, objects: Objects, tmp_path: Path) -> None:
    """Nor what is gone."""
    await origin.write("one")
    await origin.publish()
    manifest = await current(objects)
    [bundle] = manifest.bundles
    size = sum(piece.size for piece in manifest.files.values())
    await objects.put(bundle, bytes(size))

    with pytest.raises(ObjectsAway, match="arrived damaged"):
        await SearchReplica(objects, tmp_path / "node").show(manifest)
    await objects.delete([bundle])
    with pytest.raises(Outdated):
        await SearchReplica(objects, tmp_path / "node").show(manifest)

    assert not list((tmp_path / "node").rglob("meta.json"))


async def test_large_files_come_in_parts(
    origin: Origin, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are as whole as small ones."""
    monkeypatch.setattr("indexer.replication.follow.search_replica.PART_BYTES", 1000)
    monkeypatch.setattr("indexer.replication.publish.bundle.PART_BYTES", 1000)
    await origin.write(*(f"{number:03}" for number in range(40)))
    await origin.publish()

    await SearchReplica(objects, tmp_path / "node").show(await current(objects))

    assert documents(tmp_path / "node") == documents(origin.folder)
