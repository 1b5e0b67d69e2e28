"""A record that we cannot read is hidden and kept, and costs its repo nothing else, whatever way it comes."""

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from indexer.catalog.writing.batch import Batch, ResyncResult
from indexer.catalog.writing.writer import Writer
from indexer.events import Commit
from indexer.repo import car, proof, signing_keys, verify
from indexer.repo.changes import RepoHead, changes_of
from indexer.repo.extract import RepoSlice
from indexer.repo.signing_keys import Key
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from schemas.ids import AtUri, Did, Nsid
from tests import documents
from tests.network.forge import ForgedRepo

TRACK = Nsid("fm.svc.track")
OURS = Collections().all
LONG_LINK = bytes.fromhex("d82a5826000171" + "1220" + "00" * 33)


def with_extra(extra: bytes) -> bytes:
    """A good track with one more field, of these bytes. Its name sorts after all others."""
    block = documents.encode(documents.least("track"))
    return bytes([block[0] + 1]) + block[1:] + b"\x6fzzzzzzzzzzzzzzz" + extra


RECORDS = {
    "nested 1,100 deep": (with_extra(b"\x81" * 1100 + b"\x01"), "The record is nested too deep"),
    "nested 500,000 deep": (with_extra(b"\x81" * 500_000 + b"\x01"), "The record is nested too deep"),
    "minus zero": (with_extra(b"\xfb" + struct.pack(">d", -0.0)), "The record is not DAG-CBOR"),
    "a link and a byte": (with_extra(LONG_LINK), "The record has a link that is longer than its CID"),
    "a number in two bytes": (with_extra(b"\x18\x01"), "The record is not canonical DAG-CBOR"),
    "no map": (b"\x81" * 1100 + b"\x01", "The record is nested too deep"),
}
unusual = pytest.mark.parametrize(("block", "reason"), RECORDS.values(), ids=RECORDS)


def repo_with(block: bytes) -> tuple[ForgedRepo, bytes, AtUri, Key]:
    """A repo of three tracks, the commit that made them, and which of them is the unusual one."""
    repo = ForgedRepo(seed="unusual")
    repo.create(TRACK, documents.least("track") | {"title": "Before"})
    made = repo.create(TRACK, block)
    repo.create(TRACK, documents.least("track") | {"title": "After"})
    frame = repo.commit_frame(1)
    return repo, frame, AtUri.parse(made.uri), signing_keys.parse_key(repo.key.multibase)


def rows(writer: Writer) -> tuple[list[Any], list[Any]]:
    """The titles that are shown; what is hidden, and why."""
    with writer.reader() as con:
        shown = con.execute("select title from tracks where state = 'live' order by title desc").fetchall()
        hidden = con.execute("select uri, reasons, record from invalid_records").fetchall()
    return shown, hidden


SHOWN = [("Before",), ("After",)]


@unusual
def test_a_commit_with_one_is_taken(writer: Writer, block: bytes, reason: str) -> None:
    """Signed and in the tree it is whatever is in it."""
    repo, frame, uri, key = repo_with(block)
    [commit] = decode_frame(frame, OURS, (), datetime.now(UTC))
    assert isinstance(commit, Commit)

    verify.verify_commit(commit, key)
    writer.write(Batch(changes=changes_of(commit, OURS), repos={Did(repo.did): RepoHead("pending")}))

    assert rows(writer) == (SHOWN, [(str(uri), reason, block)])


@unusual
def test_a_repo_with_one_is_taken(writer: Writer, block: bytes, reason: str) -> None:
    """All of it but that record; and what is written later, too."""
    repo, _, uri, key = repo_with(block)
    whole = car.read_car(repo.whole_repo())
    wanted = RepoSlice(Did(repo.did), key, OURS, repo.now)
    head = wanted.head(whole.roots, whole.blocks.get)

    fetched = wanted.fetched(head, wanted.paths(head, whole.blocks.get), whole.blocks.get)
    written = writer.write(
        Batch(repos={Did(repo.did): RepoHead("pending")}, resyncs=[ResyncResult(Did(repo.did), key, fetched)])
    )

    assert written.resynced[Did(repo.did)].state == "active"
    assert rows(writer) == (SHOWN, [(str(uri), reason, block)])


@unusual
def test_one_is_proven_as_any_record(block: bytes, reason: str) -> None:
    """A nudge brings it in, and it is hidden like the others."""
    repo, _, uri, key = repo_with(block)

    found = proof.verify_proof(repo.record_proof(TRACK, uri.rkey), uri, repo.now + timedelta(hours=1), key)

    assert found.block == block
    assert reason


def test_one_that_is_written_anew_is_shown(writer: Writer) -> None:
    """Hidden is the version, not the record."""
    repo, frame, uri, _ = repo_with(RECORDS["nested 1,100 deep"][0])
    repo.update(TRACK, uri.rkey, documents.least("track") | {"title": "Anew"})
    for raw in (frame, repo.commit_frame(2)):
        [commit] = decode_frame(raw, OURS, (), datetime.now(UTC))
        assert isinstance(commit, Commit)
        writer.write(Batch(changes=changes_of(commit, OURS)))

    shown, hidden = rows(writer)

    assert sorted(shown) == [("After",), ("Anew",), ("Before",)]
    assert hidden == []
