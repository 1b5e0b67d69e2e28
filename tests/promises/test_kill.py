"""kill -9 at any instant loses nothing: afterwards both stores hold, record by record, what the network said.

KILLS sets how many times (6; make test-long 20), SEED repeats a run.
"""

import asyncio
import os
import random
import signal
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tantivy

from indexer.search.rebuild import rebuild_index
from schemas import data_folder, search_index
from schemas.ids import record_key
from schemas.settings import Settings
from schemas.stored import Stored
from tests import documents
from tests.indexer.running import until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay
from tests.patience import PATIENCE_SECONDS
from tests.promises.process import Process

KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
ACCOUNTS = 40
FRAMES_PER_SECOND = 200
BACKLOG = 1000

TABLES = {"track": "tracks", "like": "likes", "comment": "comments", "list": "lists", "profile": "profiles"}


class Network:
    """Accounts that write, change, delete and disappear at random, and the state that this amounts to."""

    def __init__(self, dice: random.Random, hosts: ForgedNetwork) -> None:
        self.dice = dice
        self.hosts = hosts
        self.now = datetime.now(UTC) - timedelta(hours=1)
        self.seq = 0
        self.repos = [ForgedRepo(seed=f"account {number}") for number in range(ACCOUNTS)]
        hosts.add(*self.repos)
        self.records: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.tracks: list[str] = []
        self.held: dict[str, list[str]] = defaultdict(list)
        self.status: dict[str, str] = defaultdict(lambda: "active")
        self.known: set[str] = set()

    def frame(self) -> bytes:
        """Something happens somewhere."""
        self.seq += 1
        self.now += timedelta(milliseconds=self.dice.randrange(1, 50))
        repo = self.dice.choice(self.repos)
        if repo.did in self.known and self.dice.random() < 0.02:
            return self._account_event(repo)
        staged = {}
        for _ in range(self.dice.choice((1, 1, 1, 2, 5))):
            staged |= self._stage(repo)
        frame = repo.commit_frame(self.seq, self.now)
        self.known.add(repo.did)
        if self.status[repo.did] == "deleted":  # Its own server shows it again, whatever the relay says.
            self.status[repo.did] = "active"
        for uri, cid in staged.items():
            if cid is not None:
                self.records[uri] = cid
            else:
                self.records.pop(uri, None)
        return frame

    @property
    def repos_there_are(self) -> int:
        """Those that were written to, since their deletion if there was one."""
        return sum(repo.rev is not None for repo in self.repos)

    def is_visible(self, uri: str) -> bool:
        return self.status[_did(uri)] == "active"

    def _account_event(self, repo: ForgedRepo) -> bytes:
        status = self.dice.choice(("active", "active", "deactivated", "takendown", "deleted"))
        self.status[repo.did] = status
        frame = repo.account_frame(self.seq, status, self.now)
        if status == "deleted":
            for uri in [uri for uri in self.records if _did(uri) == repo.did]:
                del self.records[uri]
            self.held[repo.did].clear()
            self._begin_anew(repo)
        return frame

    def _begin_anew(self, gone: ForgedRepo) -> None:
        """Who comes back after a deletion has an empty repo under the same key."""
        place = self.repos.index(gone)
        fresh = self.repos[place] = ForgedRepo(gone.did, seed=f"account {place}", start=self.now)
        self.hosts.add(fresh)

    def _stage(self, repo: ForgedRepo) -> dict[str, str | None]:
        held, action = self.held[repo.did], self.dice.random()
        if held and action < 0.15:
            uri = held.pop(self.dice.randrange(len(held)))
            collection, rkey = uri.split("/")[3:]
            repo.delete(collection, rkey)
            return {uri: None}
        if held and action < 0.35:
            uri = self.dice.choice(held)
            kind = self.kinds[uri]
            written = repo.update(documents.collection(kind), uri.split("/")[4], self._record(kind))
        else:
            kind = self.dice.choice(("track", "track", "like", "like", "like", "comment", "list", "profile"))
            rkey = "self" if kind == "profile" else None
            written = repo.create(documents.collection(kind), self._record(kind), rkey)
            self.kinds[written.uri] = kind
            if kind == "track":
                self.tracks.append(written.uri)
            if written.uri not in held:
                held.append(written.uri)
        return {written.uri: written.cid}

    def _record(self, kind: str) -> dict[str, Any]:
        record = documents.least(kind)
        tracks = self.tracks
        match kind:
            case "track":
                record["title"] = f"Song {self.dice.randrange(10**9)}"
            case "like" | "comment" if tracks:
                record["subject"] = documents.strong_ref(self.dice.choice(tracks))
            case "list":
                chosen = self.dice.sample(tracks, min(3, len(tracks)))
                record["items"] = [{"subject": documents.strong_ref(uri)} for uri in chosen]
            case "profile":
                record["displayName"] = f"Person {self.dice.randrange(1000)}"
        return record


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_nothing_is_lost_however_often_the_indexer_is_killed(tmp_path: Path) -> None:
    """Under load, at random instants, also while it starts."""
    print(f"SEED={SEED}")
    dice = random.Random(SEED)
    async with Relay() as relay, ForgedNetwork() as hosts:
        network = Network(dice, hosts)
        environment = {
            "FMSVC_RELAY": relay.url,
            "FMSVC_PLC_URL": hosts.url,
            "FMSVC_HANDLE_RESOLVER": hosts.url,
            "FMSVC_ALLOW_LOOPBACK": "true",
            "FMSVC_SNAPSHOT_SECONDS": "0.2",
            "FMSVC_BATCH_ROWS": "50",
        }
        async with Process(tmp_path, environment) as process:
            load = asyncio.create_task(_load(network, relay))
            for kill in range(KILLS):
                await process.start()
                if kill % 4:
                    await _connected(relay, len(relay.cursors))
                if kill % 4 > 1:
                    await process.committed_more()
                await asyncio.sleep(dice.uniform(0, 0.8))
                await process.end(signal.SIGKILL)
            load.cancel()
            await asyncio.gather(load, return_exceptions=True)
            await process.start()
            await _caught_up(process, network)
            assert await process.end(signal.SIGTERM) == 0
    assert len({cursor for cursor in relay.cursors if cursor}) >= KILLS // 4

    _compare_catalogue(tmp_path, network)
    _compare_search(tmp_path, network)


async def _connected(relay: Relay, connections: int) -> None:
    await until(lambda: len(relay.cursors) > connections)


async def _load(network: Network, relay: Relay) -> None:
    """Frames without end, but not further ahead than a slow machine can catch up with."""
    while True:
        finished = max((cursor or 0 for cursor in relay.cursors), default=0)
        if network.seq - finished < BACKLOG:
            await relay.send(*[network.frame() for _ in range(FRAMES_PER_SECOND // 20)])
        await asyncio.sleep(0.05)


async def _caught_up(process: Process, network: Network) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            health = await process.health()
            if health.get("cursor") == network.seq and _is_settled(health, network):
                return
            await asyncio.sleep(0.1)


def _is_settled(health: dict[str, Any], network: Network) -> bool:
    in_step = health["repos"].get("active") == network.repos_there_are
    return in_step and bool(health["watermark"] == health["op"])


def _compare_catalogue(data_dir: Path, network: Network) -> None:
    with duckdb.connect(str(data_dir / data_folder.CATALOGUE), read_only=True) as con:
        stored: dict[str, str] = {}
        for table in TABLES.values():
            rows = con.execute(f"select uri, cid, state from {table}").fetchall()
            assert len({row[0] for row in rows}) == len(rows), table
            stored |= {uri: cid for uri, cid, state in rows if state != "deleted"}
        assert stored == network.records
        assert con.execute("select count(*) from waiting_commits").fetchone() == (0,)
        cursor = con.execute("select seq from cursors").fetchone()
        likes = dict(con.execute("select subject_key, likes from track_counts where likes > 0").fetchall())
        people = con.execute(
            "select subject_key, count(distinct did) from visible_likes group by subject_key"
        ).fetchall()
    assert cursor == (network.seq,)
    assert likes == dict(people)


def _compare_search(data_dir: Path, network: Network) -> None:
    followed = _documents(data_dir / data_folder.SEARCH)
    with duckdb.connect(str(data_dir / data_folder.CATALOGUE), read_only=True) as con:
        rebuild_index(con, data_dir / "again", Settings().base_url, lambda done, total: None)
    again = _documents(data_dir / "again")
    visible = {
        f"{kind}:{record_key(uri)}"
        for uri, kind in network.kinds.items()
        if kind in ("track", "comment") and uri in network.records and network.is_visible(uri)
    }
    assert {name for name in followed if name.startswith(("track:", "comment:"))} == visible
    for cursor in (followed, again):
        cursor.pop(search_index.CURSOR)
    assert followed.keys() == again.keys()
    assert [name for name in again if followed[name] != again[name]] == []


def _documents(folder: Path) -> dict[str, Stored]:
    """Every document of every index, by name."""
    found: dict[str, Stored] = {}
    for part in search_index.search_schemas():
        index = tantivy.Index.open(str(folder / part))
        search_index.register_tokenizers(index)
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs)).hits
        for _, address in hits:
            document = Stored(memoryview(searcher.doc(address)[search_index.STORED][0]))
            name = document.doc
            if part == search_index.WORDS_FOLDER:
                name = f"words of {name}"
            assert name.endswith(search_index.CURSOR) or name not in found
            found[name] = document
    return found


def _did(uri: str) -> str:
    return uri.split("/")[2]
