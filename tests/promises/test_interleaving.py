"""Whatever the order, however often, wherever it was interrupted: the same rows and the same answers."""

import asyncio
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.catalog.published.snapshots import Snapshots
from indexer.catalog.tables import recount
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import Commit, IdentityFact
from indexer.repo.changes import changes_of
from indexer.search.index import SearchIndex
from indexer.stream.decode import decode_frame
from schemas import data_folder
from schemas.ids import list_id, record_id
from schemas.settings import Settings
from tests.documents import TRACK_CID
from tests.indexer.changes import HOW_WE_KNOW
from tests.network.forge import START, ForgedRepo
from tests.readapi.serving import serving

FOLLOWS_THE_ORDER = (
    "outbox",
    "change_log",
    "dead_letters",
    "cursors",
    "meta",
)  # what is about arrival, not about records
EXAMPLES = int(os.environ.get("INTERLEAVINGS", "5"))
TAGS = ("ambient", "night drive", "東京")


Made = dict[str, list[tuple[ForgedRepo, str, str]]]  # by kind: whose, rkey, uri


@dataclass(frozen=True)
class World:
    """Frames in the order of the network, and what somebody may ask about them."""

    frames: list[bytes]
    dids: list[str]
    uris: list[str]

    def addresses(self) -> list[str]:
        """Every public read of everything that is or was there."""
        found = ["/tracks/", "/tracks/?sort=popular", "/tracks/top", "/tracks/tags", "/stats", "/albums/"]
        found += ["/search/?q=song", "/search/?q=al", "/search/?q=ambient&sort=recent"]
        found += [f"/tracks/tags/{quote(tag)}" for tag in TAGS]
        for did in self.dids:
            handle = handle_of(did)
            found += [
                f"/artists/{did}",
                f"/users/{handle}/likes",
                f"/albums/{handle}",
                f"/tracks/?artist_did={did}",
            ]
            found += [f"/lists/playlists/by-artist/{did}"]
        for uri in self.uris:
            found += [f"/tracks/{record_id(uri)}{more}" for more in ("", "/likes", "/comments")]
            found += [f"/albums/by-id/{list_id(uri)}", f"/lists/playlists/{list_id(uri)}"]
        return found


def handle_of(did: str) -> str:
    return f"{did.rpartition(':')[2][:8]}.example"


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Three people create, change and delete records that refer to each other."""
    repos = [ForgedRepo(seed=f"person {number}", start=START) for number in range(3)]
    written: Made = {
        "track": [],
        "list": [],
        "like": [],
        "comment": [],
    }
    uris: list[str] = []
    frames = []
    for seq in range(1, draw(st.integers(4, 24)) + 1):
        repo = draw(st.sampled_from(repos))
        _write_something(draw, repo, written, uris, seq)
        frames.append(repo.commit_frame(seq))
    return World(frames, [repo.did for repo in repos], uris)


def _write_something(
    draw: st.DrawFn,
    repo: ForgedRepo,
    written: Made,
    uris: list[str],
    number: int,
) -> None:
    mine = [(kind, rkey) for kind, all_of in written.items() for owner, rkey, _ in all_of if owner is repo]
    if mine and draw(st.integers(0, 3)) == 0:
        kind, rkey = draw(st.sampled_from(mine))
        if draw(st.booleans()):
            repo.delete(f"fm.svc.{kind}", rkey)
        else:
            repo.update(f"fm.svc.{kind}", rkey, _record(draw, kind, written, number))
        return
    kind = draw(st.sampled_from(("track", "track", "like", "like", "comment", "list", "actor.profile")))
    if kind == "actor.profile":
        repo.update("fm.svc.actor.profile", "self", _record(draw, kind, written, number))
        return
    made = repo.create(f"fm.svc.{kind}", _record(draw, kind, written, number))
    written[kind].append((repo, made.rkey, made.uri))
    uris.append(made.uri)


def _record(draw: st.DrawFn, kind: str, written: Made, number: int) -> dict[str, Any]:
    at = f"2025-01-01T00:00:{number:02}Z"
    # A track that is never written stands for one that has not arrived.
    tracks = [uri for _, _, uri in written["track"]] + ["at://did:plc:nobody/fm.svc.track/3jzfcijpj2z2a"]
    subject = {"uri": draw(st.sampled_from(tracks)), "cid": TRACK_CID}
    match kind:
        case "track":
            title = draw(
                st.sampled_from((f"Song {number}", "Song", f"夜の歌 {number}", ""))
            )  # no title: invalid
            tags = draw(st.lists(st.sampled_from(TAGS), max_size=3))
            record = {"title": title, "artist": "Somebody", "fileType": "mp3", "createdAt": at, "tags": tags}
            album = draw(st.sampled_from((None, "Album", "Other")))
            return record if album is None else {**record, "album": album}
        case "like":
            return {"subject": subject, "createdAt": at}
        case "comment":
            return {"subject": subject, "text": f"so good {number}", "timestampMs": number, "createdAt": at}
        case "list":
            items = [{"subject": {"uri": uri, "cid": TRACK_CID}} for uri in tracks]
            kind_of_list = draw(st.sampled_from(("album", "playlist")))
            return {"items": items, "createdAt": at, "name": "Album", "listType": kind_of_list}
        case _:
            return {"createdAt": at, "displayName": draw(st.sampled_from(("Ana", "Bea")))}


class Node:
    """One install: stores in a folder, opened again whenever it is told to restart."""

    def __init__(self, folder: Path, dids: list[str]) -> None:
        self.settings = Settings(data_dir=folder, rate_limit="1000000/minute", port=1)
        self._known = [IdentityFact(did, handle_of(did), "https://pds.example") for did in dids]
        self._open()

    def _open(self) -> None:
        self.writer = Writer.open(self.settings)
        self.index = SearchIndex.open(self.settings.data_dir / data_folder.SEARCH, self.settings.base_url)
        self._reader = self.writer.reader()

    def restart(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        self.index.close()
        self._reader.close()
        self.writer.close()

    def take(self, frames: list[bytes]) -> None:
        """Write frames as one batch, and follow."""
        batch = Batch()
        for raw in frames:
            for event in decode_frame(raw, self.settings.collections.all, frozenset(), START):
                assert isinstance(event, Commit)
                batch.changes += changes_of(event, self.settings.collections.all)
        self.writer.write(batch)
        self.follow()

    def settle(self) -> None:
        """Learn who everybody is, and publish a snapshot."""
        self.writer.write(Batch(identities=list(self._known)))
        self.follow()
        snapshots = Snapshots(self.settings, self.writer)
        assert snapshots.begin()
        snapshots.finish()

    def follow(self) -> None:
        while self.index.follow(self._reader) < self.writer.op:
            pass

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        tables = [
            name
            for (name,) in self._reader.execute(
                "select table_name from duckdb_tables() where not internal and not temporary"
            ).fetchall()
        ]
        return {
            table: self._reader.execute(f"select {HOW_WE_KNOW} from {table} order by all").fetchall()
            for table in tables
            if table not in FOLLOWS_THE_ORDER
        }


async def answers(node: Node, addresses: list[str]) -> dict[str, Any]:
    """What the API says to each question, without what tells the time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        port = listening.getsockname()[1]
        found: dict[str, Any] = {}
        async with serving(node.settings, listening), aiohttp.ClientSession() as session:
            await _ready(session, port)
            for address in addresses:
                async with session.get(f"http://127.0.0.1:{port}{address}") as response:
                    body = await response.json()
                    if isinstance(body, dict):
                        body.pop("as_of", None)
                    found[address] = (response.status, body)
        return found


async def _ready(session: aiohttp.ClientSession, port: int) -> None:
    for _ in range(400):
        async with session.get(f"http://127.0.0.1:{port}/stats") as response:
            if response.status == 200:
                return
        await asyncio.sleep(0.01)
    raise AssertionError("no snapshot was found")


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
@given(world=worlds(), data=st.data())
@pytest.mark.slow
def test_any_order_gives_the_same_rows_and_answers(
    world: World, data: st.DataObject, tmp_path_factory: Any
) -> None:
    """Once in order and in one go; once shuffled, repeated, in pieces and with restarts."""
    deliveries = data.draw(st.permutations(world.frames + data.draw(st.lists(st.sampled_from(world.frames)))))
    in_order = Node(tmp_path_factory.mktemp("in_order"), world.dids)
    shuffled = Node(tmp_path_factory.mktemp("shuffled"), world.dids)

    in_order.take(world.frames)
    in_order.settle()
    while deliveries:
        piece = data.draw(st.integers(1, len(deliveries)))
        shuffled.take(deliveries[:piece])
        deliveries = deliveries[piece:]
        if data.draw(st.booleans()):
            shuffled.restart()
    shuffled.settle()

    try:
        assert shuffled.rows() == in_order.rows()
        assert recount.find_wrong_counts(shuffled.writer.reader()) == []
        asked = world.addresses()
        assert asyncio.run(answers(shuffled, asked)) == asyncio.run(answers(in_order, asked))
    finally:
        in_order.close()
        shuffled.close()
