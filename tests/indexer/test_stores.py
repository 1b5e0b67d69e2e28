"""What takes long on one store holds up no other."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from indexer.catalog.published import series
from indexer.catalog.published.exports import Exports
from indexer.stores import Stores
from schemas.api.exports import Manifest
from tests.indexer.changes import put, settings, write
from tests.indexer.running import until


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = Stores.open(settings(tmp_path, snapshot_seconds=1e-6, snapshot_share=1))
    yield opened
    await opened.close()


async def test_snapshots_and_questions_wait_for_no_export(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export of a large catalogue takes minutes. What it reads is not pruned meanwhile."""
    goes_on, read = threading.Event(), asyncio.Event()
    loop, make = asyncio.get_running_loop(), Exports.make

    def make_slowly(exports: Exports, snapshot: Path, counted: Path, made_at: datetime) -> Manifest:
        loop.call_soon_threadsafe(read.set)
        goes_on.wait()
        return make(exports, snapshot, counted, made_at)

    monkeypatch.setattr(Exports, "make", make_slowly)
    write(stores.writer, put("ana", "track", at=1))
    stores.snapshots.caught_up()
    await stores.publish()
    first = stores.snapshots.current.resolve()
    exporting = asyncio.create_task(stores.derive())
    try:
        await read.wait()
        for number in range(1, 5):
            write(stores.writer, put("ana", "track", number, at=2 + number))
            await stores.publish()
        newest = stores.snapshots.current.resolve()

        assert await stores.accounts_by_status() == {"active": 1}
        assert newest.name == "catalog-5.duckdb"
        assert first.exists()
    finally:
        goes_on.set()
        await exporting

    assert stores.snapshots.failures == []
    assert stores.snapshots.exports.read_manifest().exports[-1].number == 1
    write(stores.writer, put("ana", "track", 9, at=9))
    await stores.publish()
    assert not first.exists()


async def test_a_stop_does_not_wait_for_what_is_derived(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of a large catalogue take long. The next start counts anew."""
    folder = stores.snapshots.folder
    write(stores.writer, put("ana", "track", at=1))
    await stores.publish()
    with monkeypatch.context() as endless:
        endless.setattr(series, "_SHOWN", "select count(*) from range(1000000000) a, range(1000000000) b")
        counting = asyncio.create_task(stores.derive())
        await until(lambda: list(folder.glob("series-*.partial")))
        counting.cancel()
        await stores.close()

    assert not list(folder.glob("*.partial*"))
    again = Stores.open(settings(tmp_path))
    await again.derive()
    await again.close()
    assert (folder / "series-1.duckdb").exists()
