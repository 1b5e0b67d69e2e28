"""The control socket tells how the indexer is doing, and takes nudges that prove themselves."""

import socket
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path

import pytest

from schemas import data_folder
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import Running, running, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import Corrupt, ForgedNetwork
from tests.network.relay import Refuse, Relay

TRACK = "fm.svc.track"


@dataclass
class World:
    """An indexer, the relay that it follows, and a PLC directory and PDS in one."""

    indexer: Running
    relay: Relay
    server: ForgedNetwork

    def host(self, repo: ForgedRepo, rkey: str) -> str:
        """Let the server prove a record. Returns its at-uri."""
        self.server.add(repo)
        return f"at://{repo.did}/{TRACK}/{rkey}"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with Relay() as relay, ForgedNetwork() as server:
        settings = Settings(
            data_dir=tmp_path,
            relay=relay.url,
            plc_url=server.url,
            allow_loopback=True,
            batch_seconds=30,
            parquet_seconds=0,
        )
        async with running(settings) as indexer:
            yield World(indexer, relay, server)


@pytest.fixture
def repo() -> ForgedRepo:
    """An account with one track, committed at its server but not on the relay."""
    forged = ForgedRepo(seed="nudged")
    forged.create(TRACK, documents.least("track") | {"title": "Nudged"}, rkey="3kznmn7xqxl22")
    forged.commit_frame(1)
    return forged


async def test_health_says_where_the_indexer_stands(world: World) -> None:
    repo = ForgedRepo()
    repo.create(TRACK, documents.least("track"))
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    await world.relay.send(*[repo.commit_frame(seq, at) for seq in range(1, 3)])
    world.server.add(repo)
    await until(lambda: world.indexer.indexer.stores.snapshots.published_at)

    health = await world.indexer.ask("/health")

    assert health["source"] == {
        "name": world.relay.url,
        "connected": True,
        "error": None,
        "retry_in": None,
        "reconnects": {},
    }
    assert health["dead_letters"] == 0
    assert health["snapshot_age_seconds"] < 30
    assert health["snapshot_at"].endswith("+00:00")
    assert {"cursor", "event_time", "lag_seconds", "watermark", "op", "accounts", "pid"} <= health.keys()


async def test_an_unreachable_relay_is_named(world: World) -> None:
    await until(lambda: world.indexer.source.status.connected)
    await world.relay.stop()
    await until(lambda: world.indexer.source.status.error)

    health = await world.indexer.ask("/health")

    assert not health["source"]["connected"]
    assert world.relay.url in health["source"]["error"]
    assert sum(health["source"]["reconnects"].values()) >= 1


async def test_metrics_are_prometheus_text(world: World) -> None:
    metrics = await world.indexer.ask("/metrics")

    for name in ("fmsvc_op", "fmsvc_source_connected", "fmsvc_batch_seconds_count", "fmsvc_held_bytes"):
        assert f"\n{name} " in metrics


async def test_a_nudge_brings_a_record_in(world: World, repo: ForgedRepo) -> None:
    """When the answer comes the record is committed and can be found."""
    uri = world.host(repo, "3kznmn7xqxl22")

    status, answer = await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert (status, answer["rev"]) == (200, repo.rev)
    assert world.indexer.rows("select uri, title, cid from tracks") == [(uri, "Nudged", answer["cid"])]
    assert world.indexer.indexer.follower.watermark == world.indexer.indexer.stores.writer.op > 0


async def test_a_nudge_about_a_deleted_record_takes_it_out(world: World, repo: ForgedRepo) -> None:
    uri = world.host(repo, "3kznmn7xqxl22")
    await world.indexer.nudge({"did": repo.did, "uri": uri})
    repo.delete(TRACK, "3kznmn7xqxl22")
    repo.commit_frame(2)

    status, answer = await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert (status, answer) == (200, {"rev": repo.rev, "op": world.indexer.indexer.stores.writer.op})
    assert world.indexer.rows("select state from tracks") == [("deleted",)]


async def test_nudging_twice_and_the_relay_after_it_change_nothing(world: World, repo: ForgedRepo) -> None:
    uri = world.host(repo, "3kznmn7xqxl22")
    await world.indexer.nudge({"did": repo.did, "uri": uri})
    before = world.indexer.rows("select * from tracks")

    await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert world.indexer.rows("select * from tracks") == before


async def test_a_nudge_about_what_never_was_is_not_found(world: World, repo: ForgedRepo) -> None:
    """A stranger's absent record leaves no tombstone behind."""
    uri = world.host(repo, "absent")

    status, answer = await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert (status, answer) == (404, {"message": "There is no such record."})
    assert world.indexer.rows("select 1 from tracks") == []


async def test_a_server_that_is_down_is_a_bad_gateway(world: World, repo: ForgedRepo) -> None:
    uri = world.host(repo, "3kznmn7xqxl22")
    world.server.faults["getRecord"] = repeat(Refuse(503))

    status, answer = await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert status == 502
    assert "answered 503" in answer["message"]


async def test_a_proof_that_does_not_hold_is_a_bad_gateway(world: World, repo: ForgedRepo) -> None:
    uri = world.host(repo, "3kznmn7xqxl22")
    world.server.faults["getRecord"] = repeat(Corrupt())

    status, answer = await world.indexer.nudge({"did": repo.did, "uri": uri})

    assert status == 502
    assert "does not hold" in answer["message"]
    assert world.indexer.rows("select 1 from tracks") == []


async def test_an_account_that_does_not_exist_is_not_found(world: World) -> None:
    did = "did:plc:abcdefghijklmnopqrstuvwx"

    status, _ = await world.indexer.nudge({"did": did, "uri": f"at://{did}/{TRACK}/a"})

    assert status == 404


async def test_another_collection_is_not_found(world: World, repo: ForgedRepo) -> None:
    status, answer = await world.indexer.nudge(
        {"did": repo.did, "uri": f"at://{repo.did}/app.bsky.feed.post/a"}
    )

    assert status == 404
    assert "app.bsky.feed.post" in answer["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"null",
        b'{"did": "did:plc:x"}',
        b'{"uri": 7}',
        b'{"did": "did:plc:x", "uri": "at://did:plc:y/fm.svc.track/a"}',
        b'{"did": "did:plc:x", "uri": "https://example.com"}',
    ],
)
async def test_a_malformed_nudge_is_refused(world: World, body: bytes) -> None:
    status, answer = await world.indexer.nudge(body)

    assert status == 400
    assert "{did, uri}" in answer["message"]


async def test_only_the_owner_may_connect(world: World) -> None:
    mode = (world.indexer.settings.data_dir / data_folder.CONTROL_SOCKET).stat().st_mode

    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


async def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    """As a killed indexer leaves it."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / data_folder.CONTROL_SOCKET))
    settings = Settings(data_dir=tmp_path, relay="ws://127.0.0.1:9", parquet_seconds=0)
    async with running(settings) as indexer:
        assert (await indexer.ask("/health"))["pid"]

    assert not (tmp_path / data_folder.CONTROL_SOCKET).exists()
