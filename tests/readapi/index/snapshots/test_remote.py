"""A worker's view of the snapshots, which another process has open."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from readapi.errors import IndexNotReady
from readapi.index.queries import readiness
from readapi.index.snapshots import local, messages, remote, server
from readapi.index.snapshots.interface import LOOK_SECONDS, UNANSWERED, Row
from readapi.index.snapshots.remote import UNREACHABLE, RemoteSnapshots
from readapi.processes.snapshot_reader import open_snapshot_reader
from schemas import control_socket, data_folder, steps
from schemas.control_socket import ControlAnswer
from schemas.settings import Settings
from tests.patience import PATIENCE_SECONDS
from tests.readapi.index.snapshots.test_local import ANSWERS, BROKEN, NUMBER, SOUND, publish

RANDOM = "select random()"
DECIMAL = "select 0.1"  # of a type that JSON lacks
ENDLESS = "select count(*) from range(10_000_000) a, range(10_000_000) b where hash(a.range + b.range) = 1"
OTHER_SNAPSHOT = "The snapshot of the catalogue is of another version; the indexer publishes a new one."


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[RemoteSnapshots]:
    opened = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    yield opened
    await opened.close()


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[None]:
    async with open_snapshot_reader(Settings(data_dir=tmp_path)):
        yield


async def show(catalog: RemoteSnapshots, path: Path) -> None:
    """Wait until the worker shows this snapshot: the process opens it meanwhile."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while catalog.version != path.name:
            await catalog.refresh()
            await asyncio.sleep(0.01)


async def test_the_newest_snapshot_answers(catalog, reader, tmp_path):
    """And tells of when it is."""
    assert not await catalog.refresh()
    with pytest.raises(IndexNotReady, match="No snapshot of the catalogue has been published yet"):
        await catalog.rows(NUMBER)
    first = publish(tmp_path, "catalog-1.duckdb", 1)
    os.utime(first, (1_000_000_000.25, 1_000_000_000.25))

    await show(catalog, first)
    assert not await catalog.refresh()

    found = await catalog.rows(NUMBER)
    assert found.rows == [(1,)]
    assert found.as_of == catalog.as_of
    assert found.as_of.timestamp() == 1_000_000_000.25
    assert (await catalog.rows("select $n + number from numbers", n=2)).rows == [(3,)]
    await show(catalog, publish(tmp_path, "catalog-2.duckdb", 2))
    assert (await catalog.rows(NUMBER)).rows == [(2,)]


async def test_a_query_is_asked_once_for_all_clients_and_workers(catalog, reader, tmp_path):
    """Until there is a newer snapshot."""
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    other = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    await asyncio.gather(show(catalog, path), show(other, path))

    first = await asyncio.gather(*(worker.rows(RANDOM) for worker in (catalog, other, catalog)))
    again = await catalog.rows(RANDOM)
    await show(catalog, publish(tmp_path, "catalog-2.duckdb", 2))
    newer = await catalog.rows(RANDOM)
    await other.close()

    assert first == [again] * 3
    assert newer != again


async def test_what_is_remembered_is_shown_while_the_process_is_away(catalog, tmp_path):
    """The rest is refused with a sentence, and answered when the process is back."""
    settings = Settings(data_dir=tmp_path)
    publish(tmp_path, "catalog-1.duckdb", 1)
    assert not await catalog.refresh()
    with pytest.raises(IndexNotReady, match=UNREACHABLE):
        await catalog.rows(NUMBER)
    async with open_snapshot_reader(settings):
        assert await catalog.refresh()
        remembered = await catalog.rows(RANDOM)

    assert await catalog.rows(RANDOM) == remembered
    with pytest.raises(IndexNotReady, match=UNREACHABLE):
        await catalog.rows(NUMBER)

    async with open_snapshot_reader(settings):
        assert (await catalog.rows(NUMBER)).rows == [(1,)]
        assert await catalog.rows(RANDOM) == remembered


async def test_a_worker_learns_that_the_process_is_away_and_back(catalog, tmp_path, monkeypatch):
    """Without a client's question and without a newer snapshot; /ready tells, and does not refuse."""
    monkeypatch.setattr(remote, "ASK_SECONDS", 0.05)
    settings = Settings(data_dir=tmp_path)
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    async with open_snapshot_reader(settings):
        await show(catalog, path)
        assert catalog.trouble is None

    await asyncio.sleep(0.06)
    assert not await catalog.refresh()
    assert (catalog.trouble, catalog.version) == (UNREACHABLE, path.name)
    assert readiness._snapshot_warnings(catalog) == [UNREACHABLE]

    async with open_snapshot_reader(settings):
        assert not await catalog.refresh()
        assert catalog.trouble is None
    assert readiness._snapshot_warnings(catalog) == []


async def test_a_process_that_could_not_open_the_newest_at_its_start_tries_again(
    catalog, tmp_path, monkeypatch
):
    """No worker asks for it: all of them know that snapshot already."""
    settings = Settings(data_dir=tmp_path)
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    async with open_snapshot_reader(settings):
        await show(catalog, path)
    monkeypatch.setattr(local, "RETRY_SECONDS", 0.0)
    content = path.read_bytes()
    path.write_bytes(b"no database")

    async with open_snapshot_reader(settings):
        with pytest.raises(IndexNotReady, match=UNANSWERED):
            await catalog.rows(NUMBER)
        path.write_bytes(content)
        found = await until_answered(catalog)

    assert found == [(1,)]


async def until_answered(catalog: RemoteSnapshots) -> list[Row]:
    """The rows of a query, as soon as it is not refused."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with contextlib.suppress(IndexNotReady):
                return (await catalog.rows(NUMBER)).rows
            await asyncio.sleep(0.01)


async def test_a_long_query_does_not_keep_a_new_worker_from_its_start(catalog, reader, tmp_path):
    """What is open is told at once; only what is found waits for its turn."""
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    await show(catalog, path)
    long = asyncio.ensure_future(catalog.rows(ENDLESS))
    await asyncio.sleep(0.1)
    newer = publish(tmp_path, "catalog-2.duckdb", 2)
    await asyncio.sleep(3 * LOOK_SECONDS)  # the process looks for it, behind the query

    started = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    async with asyncio.timeout(remote.STATE_SECONDS / 2):
        await started.refresh()

    assert started.version == path.name != newer.name
    assert not long.done()
    long.cancel()
    await started.close()


async def test_a_worker_with_other_tables_is_refused(catalog, reader, tmp_path, monkeypatch):
    """Its queries may mean something else in ours."""
    path = publish(tmp_path, "catalog-1.duckdb", 1)
    await show(catalog, path)
    monkeypatch.setattr(remote, "steps", SimpleNamespace(VERSION=steps.VERSION + 1))

    with pytest.raises(IndexNotReady, match=server.OTHER_TABLES):
        await catalog.rows(NUMBER)


async def test_an_answer_of_the_snapshot_before_is_not_remembered(catalog, reader, tmp_path):
    """The newest one may have an answer of its own soon."""
    await show(catalog, publish(tmp_path, "catalog-1.duckdb", 1, SOUND))
    await catalog.rows(NUMBER)
    newest = publish(tmp_path, "catalog-2.duckdb", 2, BROKEN)
    await show(catalog, newest)

    older = await catalog.rows(ANSWERS)

    assert older.rows == [(1,)]
    assert older.as_of.timestamp() < newest.stat().st_mtime
    assert catalog.remembered == 0
    await catalog.rows(NUMBER)
    assert catalog.remembered == 1


async def test_refusals_come_with_their_reason(catalog, reader, tmp_path, monkeypatch):
    """A snapshot of another version, one without an answer, and an answer that is too large."""
    publish(tmp_path, "catalog-1.duckdb", 1, f"update meta set value = '{steps.VERSION - 1}'")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while catalog.trouble != OTHER_SNAPSHOT:
            await catalog.refresh()
            await asyncio.sleep(0.01)
    with pytest.raises(IndexNotReady, match=OTHER_SNAPSHOT):
        await catalog.rows(NUMBER)
    await show(catalog, publish(tmp_path, "catalog-2.duckdb", 2, BROKEN))
    monkeypatch.setattr(messages, "MOST_BYTES", 1000)

    for sql in (
        ANSWERS,
        "select repeat('x', 1000)",
        "select 1; select 2",
        "",
        "select $missing",
        DECIMAL,
    ):
        with pytest.raises(IndexNotReady, match=UNANSWERED):
            await catalog.rows(sql)

    assert catalog.remembered == 0


async def test_many_queries_share_a_few_connections(reader, tmp_path, monkeypatch):
    """Strangers choose what is asked: each connection is an open file of the process. All are answered."""
    monkeypatch.setattr(remote, "AT_ONCE", 3)
    catalog = RemoteSnapshots(Settings(data_dir=tmp_path), data_folder.NEWEST_SNAPSHOT)
    await show(catalog, publish(tmp_path, "catalog-1.duckdb", 1))
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
    await show(catalog, publish(tmp_path, "catalog-1.duckdb", 1))

    with pytest.raises(server.Occupied):
        async with open_snapshot_reader(Settings(data_dir=tmp_path)):
            pass

    assert (await catalog.rows(NUMBER)).rows == [(1,)]


async def test_the_end_does_not_wait_for_an_answer(catalog, tmp_path):
    """Clients that wait for one are no longer connected by then."""
    async with open_snapshot_reader(Settings(data_dir=tmp_path)):
        await show(catalog, publish(tmp_path, "catalog-1.duckdb", 1))
        asked = asyncio.ensure_future(catalog.rows(ENDLESS))
        await asyncio.sleep(0.1)

        async with asyncio.timeout(5):
            await catalog.close()

        with pytest.raises(asyncio.CancelledError):
            await asked
