"""Whatever a stranger sends, and whatever of ours breaks on it, costs that input alone."""

import os
from collections.abc import Container
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import libipld
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from indexer import faults
from indexer.catalog.projections import like as likes
from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.tables.records import Hashing
from indexer.catalog.writing import poison
from indexer.catalog.writing.batch import Batch, ResyncResult
from indexer.catalog.writing.writer import Writer
from indexer.events import Event, Frame, Malformed
from indexer.faults import StoreError
from indexer.repo import signing_keys
from indexer.repo.changes import RepoHead
from indexer.stream import dialects
from indexer.stream.decode import decode_frame
from indexer.stream.decode_jetstream import decode_json
from schemas.collections import Collections
from schemas.ids import Did, Nsid, record_key
from schemas.settings import Settings
from tests import documents
from tests.indexer import changes
from tests.indexer.catalog.writing.test_apply_resync import commits, fetched, waiting
from tests.indexer.changes import START, like, put, uri, write
from tests.indexer.hostile import spoilt
from tests.indexer.running import following
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.jetstream import JetstreamDouble
from tests.network.relay import Relay

OURS = Collections().all
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
AT = datetime(2025, 3, 1, 12, tzinfo=UTC)
TRACK = "fm.svc.track"


def samples() -> list[bytes]:
    """Frames of every kind, of one account."""
    repo = ForgedRepo(seed="hostile", start=AT - timedelta(days=1))
    made = repo.create(TRACK, documents.least("track"))
    frames = [repo.commit_frame(1, AT)]
    repo.delete(TRACK, made.rkey)
    return [
        *frames,
        repo.commit_frame(2, AT),
        repo.sync_frame(3, AT),
        repo.account_frame(4, time=AT),
        repo.identity_frame(5, time=AT),
    ]


FRAMES = samples()
MESSAGES = [
    orjson.loads(raw)
    for message in JetstreamDouble(FRAMES).messages
    for raw in (message.first, message.second)
    if raw is not None
]


def judged(raw: bytes, source: str, decoder: Any) -> tuple[Event, ...]:
    """What a frame means, by the decoder itself: nothing catches what it raises."""
    did = Did(ForgedRepo(seed="hostile").did)
    events: tuple[Event, ...] = decoder(raw, OURS, {did}, AT)
    assert len(events) == 1
    return events


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_a_hostile_jetstream_message_never_raises(data: st.DataObject) -> None:
    """Any value in any place of a good message, of either version."""
    message = data.draw(spoilt(data.draw(st.sampled_from(MESSAGES))))

    judged(orjson.dumps(message), "wss://jetstream.example/subscribe", decode_json)


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_a_hostile_frame_of_a_relay_never_raises(data: st.DataObject) -> None:
    """The same in DAG-CBOR."""
    header, body = libipld.decode_dag_cbor_multi(data.draw(st.sampled_from(FRAMES)))
    if data.draw(st.integers(0, 4)) == 0:
        header = data.draw(spoilt(header))

    raw = libipld.encode_dag_cbor(header) + libipld.encode_dag_cbor(data.draw(spoilt(body)))

    judged(raw, "wss://relay.example", decode_frame)


@pytest.mark.parametrize("collection", [[], {}, None, 7])
def test_a_collection_that_is_no_name_is_malformed(collection: object) -> None:
    """Of either version; with the message's number, so that the cursor moves past it."""
    for good in (MESSAGES[0], MESSAGES[1]):
        message = orjson.loads(orjson.dumps(good))
        (message.get("commit") or message["payload"])["collection"] = collection

        [event] = decode_json(orjson.dumps(message), OURS, (), AT)

        assert isinstance(event, Malformed)
        assert event.seq is not None


async def test_a_frame_that_breaks_the_decoder_is_kept_and_passed(
    indexer_settings: Settings, forged_network: ForgedNetwork
) -> None:
    """With the traceback, once in the log and counted each time; what follows is taken."""
    repo = ForgedRepo()
    forged_network.add(repo)
    made = []
    for seq in range(1, 5):
        repo.create(TRACK, documents.least("track") | {"title": f"Song {seq}"})
        made.append(repo.commit_frame(seq))
    before = faults.FAULTS.labels("decode")._value.get()

    def breaking(raw: bytes, ours: frozenset[Nsid], tracked: Container[Did], at: datetime) -> Any:
        if raw in made[1:3]:
            raise TypeError("cannot use 'list' as a dict key")
        return decode_frame(raw, ours, tracked, at)

    async with Relay([]) as relay, following(indexer_settings, relay) as indexer:
        indexer.source.decode = breaking
        with capture_logs() as told:
            await relay.send(*made)
            await indexer.reach(4)

        kept = indexer.rows("select seq, did, reason from dead_letters order by seq")
        titles = indexer.rows("select title from tracks order by title")

    assert [(seq, did) for seq, did, _ in kept] == [(2, repo.did), (3, repo.did)]
    assert "TypeError: cannot use 'list'" in kept[0][2].splitlines()[0]
    assert "in breaking" in kept[0][2]
    assert titles == [(f"Song {seq}",) for seq in range(1, 5)]  # its repo was fetched
    assert len([line for line in told if line["log_level"] == "error"]) == 1
    assert faults.FAULTS.labels("decode")._value.get() - before == 2


@pytest.mark.parametrize("error", [duckdb.IOException("the disk"), MemoryError(), KeyboardInterrupt()])
def test_damage_of_our_own_still_ends_the_process(error: BaseException) -> None:
    """What is not the frame's fault is not kept as if it were."""

    def breaking(*_: object) -> Any:
        raise error

    with pytest.raises(type(error)):
        dialects.decode_safely(breaking, Frame("wss://relay.example", b"", AT), OURS, ())


def columns(writer: Writer, query: str) -> list[tuple[Any, ...]]:
    with writer.reader() as con:
        return con.execute(query).fetchall()


POISON = uri("ben", "like", 3)


def poisoned(text: str) -> int:
    """Breaks for one record, at whatever step of the transaction its key is asked for."""
    if text == str(POISON):
        raise OverflowError("int too big to convert")
    return record_key(text)


async def test_a_record_that_cannot_be_written_does_not_stop_the_others(tmp_path: Path) -> None:
    """Among hundreds it is found in few trials, and kept; the cursor moves past the batch."""
    writer = Writer.open(changes.settings(tmp_path), Hashing(key=poisoned))
    rehearsals = 0
    rehearse = writer.rehearse

    def counted(batch: Batch) -> None:
        nonlocal rehearsals
        rehearsals += 1
        rehearse(batch)

    writer.rehearse = counted  # type: ignore[method-assign]
    many = [like("ben", uri("ana", "track", number), number, at=1) for number in range(200)]

    poison.write_without_poison(writer, Batch(changes=many, cursors={"relay": StreamCursor(200, START)}))

    try:
        assert columns(writer, "select count(*) from likes where state = 'live'") == [(199,)]
        assert writer.cursor("relay") == 200
        [(did, reason, raw)] = columns(writer, "select did, reason, raw from dead_letters")
        assert (did, raw) == (POISON.did, many[3].block)
        assert "OverflowError: int too big to convert" in reason
        assert rehearsals <= 2 * 8 + 1  # twice the logarithm of the batch, and once without any
    finally:
        writer.close()


async def test_a_fetched_repo_is_taken_without_what_cannot_be_written(tmp_path: Path) -> None:
    """The rest of it is stored, and the repo is in step: it is not fetched for ever."""
    repo = ForgedRepo(seed="mended")
    commits(repo, "One", "Two", "Three")
    whole = fetched(repo)
    victim = sorted(whole.records)[1]

    def key(text: str) -> int:
        if text.endswith("/".join(victim)):
            raise OverflowError("int too big to convert")
        return record_key(text)

    writer = Writer.open(changes.settings(tmp_path), Hashing(key=key))
    mend = ResyncResult(Did(repo.did), signing_keys.parse_key(repo.key.multibase), whole)
    try:
        written = poison.write_without_poison(
            writer, Batch(repos={mend.did: RepoHead("pending")}, resyncs=[mend])
        )

        assert written.resynced[mend.did].state == "active"
        assert columns(writer, "select title from tracks order by title") == [("One",), ("Three",)]
        assert columns(writer, "select count(*) from dead_letters where reason like 'fm.svc.track/%'") == [
            (1,)
        ]
    finally:
        writer.close()


def test_what_fails_without_any_record_is_not_blamed_on_one(writer: Writer) -> None:
    """A fault of our own store ends the program, as damage does."""
    with writer.reader() as con:
        con.execute("drop table cursors")

    with pytest.raises((StoreError, duckdb.Error), match="cursors"):
        poison.write_without_poison(
            writer, Batch(changes=[like("ben", POISON, at=1)], cursors={"relay": StreamCursor(1, START)})
        )


def test_a_record_that_breaks_its_projection_is_hidden_with_the_traceback(writer: Writer) -> None:
    """It is kept as any record that does not validate."""

    def breaking(*_: object) -> Any:
        raise ZeroDivisionError("none left")

    table = writer._holdings._tables[Nsid("fm.svc.like")]
    table.projection = replace(likes.projection, columns=breaking)

    write(
        writer,
        put("ana", "track", at=1),
        like("ben", uri("ana", "track"), at=1),
    )

    [(reasons, record)] = columns(writer, "select reasons, record from invalid_records")
    assert "ZeroDivisionError: none left" in reasons
    assert record
    assert columns(writer, "select state from likes") == [("invalid",)]
    assert columns(writer, "select state from tracks") == [("live",)]


def test_a_waiting_commit_that_breaks_its_check_is_kept_and_passed(writer: Writer) -> None:
    """Those before it are applied; the repo is fetched for the rest."""
    repo = ForgedRepo(seed="replayed")
    frames = commits(repo, "One", "Two")
    key = signing_keys.parse_key(repo.key.multibase)
    asked = 0

    def check(signature: bytes, message: bytes) -> bool:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise IndexError("past the end")
        return key._check(signature, message)

    mend = ResyncResult(Did(repo.did), replace(key, _check=check))
    written = writer.write(Batch(waiting=waiting(*frames), resyncs=[mend]))

    assert written.resynced[mend.did].state == "desynchronized"
    assert written.resynced[mend.did].fetch
    assert columns(writer, "select title from tracks") == [("One",)]
    [(reason,)] = columns(writer, "select reason from dead_letters")
    assert "IndexError: past the end" in reason
