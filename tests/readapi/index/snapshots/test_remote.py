"""A worker's view of the snapshots, which another process has open."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from readapi.errors import IndexNotReady
from readapi.index.snapshots import local, remote, server
from readapi.index.snapshots.interface import UNANSWERED
from readapi.index.snapshots.remote import UNREACHABLE, RemoteSnapshots
from readapi.processes.snapshot_reader import open_snapshot_reader
from schemas import control_socket, data_folder, steps
from schemas.control_socket import ControlAnswer
from schemas.settings import Settings
from tests.readapi.index.snapshots.test_local import ANSWERS, BROKEN, NUMBER, SOUND, publish

RANDOM = "select random()"


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[RemoteSnapshots]:
    opened = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    yield opened
    await opened.close()


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[None]:
    async with open_snapshot_reader(Settings(data_dir=tmp_path)):
        yield


async def test_the_newest_snapshot_answers(catalog, reader, tmp_path):
    """And tells of when it is."""
    assert not await catalog.refresh()
    with pytest.raises(IndexNotReady, match="No snapshot of the catalogue has been published yet"):
        await catalog.rows(NUMBER)
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    os.utime(path, (1_000_000_000.25, 1_000_000_000.25))

    assert await catalog.refresh()
    assert not await catalog.refresh()

    found = await catalog.rows(NUMBER)
    assert found.rows == [(1,)]
    assert found.as_of == catalog.as_of
    assert found.as_of.timestamp() == 1_000_000_000.25
    assert catalog.version == "catalog-1.duckdb"
    assert (await catalog.rows("select $n + number from numbers", n=2)).rows == [(3,)]
    publish(tmp_path, "catalog-2.duckdb", 2)
    assert await catalog.refresh()
    assert (await catalog.rows(NUMBER)).rows == [(2,)]


async def test_a_query_is_asked_once_for_all_clients_and_workers(catalog, reader, tmp_path):
    """Until there is a newer snapshot."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    other = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    await asyncio.gather(catalog.refresh(), other.refresh())

    first = await asyncio.gather(*(worker.rows(RANDOM) for worker in (catalog, other, catalog)))
    again = await catalog.rows(RANDOM)
    publish(tmp_path, "catalog-2.duckdb", 2)
    await catalog.refresh()
    newer = await catalog.rows(RANDOM)
    await other.close()

    assert first == [again] * 3
    assert newer != again


async def test_what_is_remembered_is_shown_while_the_process_is_away(catalog, tmp_path):
    """The rest is refused with a sentence, and answered when the process is back."""
    settings = Settings(data_dir=tmp_path)
    publish(tmp_path, "catalog-1.duckdb", 1)
    assert not await catalog.refresh()
    with pytest.raises(IndexNotReady) as refused:
        await catalog.rows(NUMBER)
    assert refused.value.message == UNREACHABLE
    async with open_snapshot_reader(settings):
        assert await catalog.refresh()
        remembered = await catalog.rows(RANDOM)

    assert await catalog.rows(RANDOM) == remembered
    with pytest.raises(IndexNotReady) as refused:
        await catalog.rows(NUMBER)
    assert refused.value.message == UNANSWERED

    async with open_snapshot_reader(settings):
        assert (await catalog.rows(NUMBER)).rows == [(1,)]
        assert await catalog.rows(RANDOM) == remembered


async def test_a_process_that_could_not_open_the_newest_at_its_start_tries_again(
    catalog, tmp_path, monkeypatch
):
    """No worker asks for it: all of them know that snapshot already."""
    settings = Settings(data_dir=tmp_path)
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    async with open_snapshot_reader(settings):
        assert await catalog.refresh()
    monkeypatch.setattr(local, "RETRY_SECONDS", 0.0)
    content = path.read_bytes()
    path.write_bytes(b"no database")

    async with open_snapshot_reader(settings):
        assert not await catalog.refresh()
        with pytest.raises(IndexNotReady) as refused:
            await catalog.rows(NUMBER)
        path.write_bytes(content)
        assert (await catalog.rows(NUMBER)).rows == [(1,)]

    assert refused.value.message == UNANSWERED


async def test_an_answer_of_the_snapshot_before_is_not_remembered(catalog, reader, tmp_path):
    """The newest one may have an answer of its own soon."""
    publish(tmp_path, "catalog-1.duckdb", 1, SOUND)
    await catalog.refresh()
    await catalog.rows(NUMBER)
    newest = publish(tmp_path, "catalog-2.duckdb", 2, BROKEN)
    await catalog.refresh()

    older = await catalog.rows(ANSWERS)

    assert older.rows == [(1,)]
    assert older.as_of.timestamp() < newest.stat().st_mtime
    assert catalog.remembered == 0
    await catalog.rows(NUMBER)
    assert catalog.remembered == 1


async def test_refusals_come_with_their_reason(catalog, reader, tmp_path, monkeypatch):
    """A snapshot of another version, one without an answer, and an answer that is too large."""
    publish(tmp_path, "catalog-1.duckdb", 1, f"update meta set value = '{steps.VERSION - 1}'")
    await catalog.refresh()
    with pytest.raises(IndexNotReady, match="of another version; the indexer publishes a new one"):
        await catalog.rows(NUMBER)
    publish(tmp_path, "catalog-2.duckdb", 2, BROKEN)
    await catalog.refresh()
    monkeypatch.setattr(remote, "MOST_BYTES", 1000)

    for sql in (ANSWERS, "select repeat('x', 1000)"):
        with pytest.raises(IndexNotReady, match="cannot answer this at the moment"):
            await catalog.rows(sql)

    assert catalog.remembered == 0


async def test_many_queries_share_a_few_connections(reader, tmp_path, monkeypatch):
    """Strangers choose what is asked: each connection is an open file of the process. All are answered."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    monkeypatch.setattr(remote, "AT_ONCE", 3)
    catalog = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    await catalog.refresh()
    open_now, most, ask = 0, 0, control_socket.ask

    async def counted(*given: Any, **named: Any) -> ControlAnswer:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        try:
            return await ask(*given, **named)
        finally:
            open_now -= 1

    monkeypatch.setattr(control_socket, "ask", counted)
    found = await asyncio.gather(*(catalog.rows("select $n", n=n) for n in range(40)))
    await catalog.close()

    assert [answer.rows for answer in found] == [[(n,)] for n in range(40)]
    assert most == 3


async def test_a_second_process_is_refused_and_the_first_goes_on(catalog, reader, tmp_path):
    """It would take the socket, and leave none when it ends."""
    publish(tmp_path, "catalog-1.duckdb", 1)
    await catalog.refresh()

    with pytest.raises(server.Occupied):
        async with open_snapshot_reader(Settings(data_dir=tmp_path)):
            pass

    assert (await catalog.rows(NUMBER)).rows == [(1,)]


async def test_the_end_does_not_wait_for_an_answer(catalog, tmp_path):
    """Clients that wait for one are no longer connected by then."""
    async with open_snapshot_reader(Settings(data_dir=tmp_path)):
        publish(tmp_path, "catalog-1.duckdb", 1)
        await catalog.refresh()
        endless = (
            "select count(*) from range(10_000_000) a, range(10_000_000) b where hash(a.range + b.range) = 1"
        )
        asked = asyncio.ensure_future(catalog.rows(endless))
        await asyncio.sleep(0.1)

        async with asyncio.timeout(5):
            await catalog.close()

        with pytest.raises(asyncio.CancelledError):
            await asked
