"""What a Jetstream says is taken when it agrees with itself, and kept as a dead letter when it does not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import libipld
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.events import (
    Account,
    Identity,
    Info,
    Malformed,
    Operation,
    Passed,
    StreamError,
    Sync,
    Unverified,
)
from indexer.repo import car
from indexer.stream.decode_jetstream import decode_json, stream_error
from schemas.collections import Collections
from schemas.ids import Nsid
from tests.network.forge import ForgedRepo
from tests.network.jetstream import JetstreamDouble

OURS = Collections().all
LIKE = "fm.svc.like"
AT = datetime(2025, 3, 1, 12, tzinfo=UTC)
MICROS = 1_740_830_400_000_000
RECORD = {
    "createdAt": "2025-01-01T00:00:00Z",
    "text": "Öffentlich ☾ 𝄞",
    "numbers": [0, -1, 2**53, True, None],
    "blob": {
        "$type": "blob",
        "ref": {"$link": "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"},
        "mimeType": "image/png",
        "size": 70,
    },
    "bytes": {"$bytes": "AAECAw"},
}

both = pytest.mark.parametrize("version", ["first", "second"])


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=AT - timedelta(days=1))


def said(frame: bytes, version: str) -> bytes:
    """A relay's frame as a Jetstream says it."""
    [message] = JetstreamDouble([frame]).messages
    return getattr(message, version)


def understood(raw: bytes, tracked: tuple[str, ...] = ()) -> Any:
    [event] = decode_json(raw, OURS, tracked, AT)
    return event


def changed(raw: bytes, **fields: object) -> bytes:
    """The message of version 1 with these fields of its commit changed; None removes one."""
    message = orjson.loads(raw)
    commit = message["commit"] | fields
    message["commit"] = {name: value for name, value in commit.items() if value is not None}
    return orjson.dumps(message)


@pytest.fixture
def created(ana: ForgedRepo) -> bytes:
    ana.create(LIKE, RECORD, rkey="one")
    return said(ana.commit_frame(1, AT), "first")


@both
def test_a_record_has_the_bytes_that_were_signed(ana: ForgedRepo, version: str) -> None:
    """JSON is turned back into the very block that the CID is of, links and bytes included."""
    written = ana.create(LIKE, RECORD, rkey="one")
    event = understood(said(ana.commit_frame(1, AT), version))

    [operation] = event.operations
    assert isinstance(event, Unverified)
    assert (event.seq, event.did, event.rev, event.time) == (MICROS, ana.did, ana.rev, AT)
    assert (operation.action, operation.path, operation.prev) == ("create", f"{LIKE}/one", None)
    assert libipld.encode_multibase("b", operation.cid) == written.cid
    assert car.cid_of(event.blocks[operation.cid]) == operation.cid


@both
def test_updates_and_deletes_are_told_apart(ana: ForgedRepo, version: str) -> None:
    """A delete carries neither record nor CID."""
    ana.create(LIKE, RECORD, rkey="one")
    ana.commit_frame(1)
    ana.update(LIKE, "one", {"createdAt": "2025-01-02T00:00:00Z"})
    update = understood(said(ana.commit_frame(2, AT), version))
    ana.delete(LIKE, "one")
    delete = understood(said(ana.commit_frame(3, AT), version))

    assert update.operations[0].action == "update"
    assert delete.operations == (Operation("delete", f"{LIKE}/one", None, None),)
    assert delete.blocks == {}


@both
def test_what_is_not_ours_only_moves_the_cursor(ana: ForgedRepo, version: str) -> None:
    """Other collections, also of accounts of ours, and what is said of strangers."""
    ana.create("app.bsky.feed.post", {"text": "hi"})
    post = said(ana.commit_frame(1, AT), version)

    assert understood(post, (ana.did,)) == Passed(MICROS, AT)
    assert understood(said(ana.account_frame(2, "deleted", AT), version)) == Passed(MICROS, AT)


@both
def test_accounts_and_identities_are_as_from_a_relay(ana: ForgedRepo, version: str) -> None:
    """Of tracked accounts only."""
    account = said(ana.account_frame(1, "takendown", AT), version)
    identity = said(ana.identity_frame(2, "ana.example", AT), version)

    assert understood(account, (ana.did,)) == Account(MICROS, ana.did, AT, "takendown")
    assert understood(identity, (ana.did,)) == Identity(MICROS, ana.did, AT)


def test_syncs_of_version_2_bring_the_signed_commit(ana: ForgedRepo) -> None:
    """The block is there, under its CID."""
    ana.create(LIKE, RECORD)
    ana.commit_frame(1)
    event = understood(said(ana.sync_frame(2, AT), "second"), (ana.did,))

    assert isinstance(event, Sync)
    assert event.blocks == {event.cid: ana.commit_block}


def test_notes_and_errors_are_understood() -> None:
    """They have no number and move no cursor."""
    info = {"$type": "x#info", "name": "OutdatedCursor", "message": "clamped"}
    error = orjson.dumps({"$type": "error", "error": "ConsumerTooSlow", "message": "too slow"})

    assert understood(orjson.dumps({"$type": "message", "payload": info})) == Info(
        "OutdatedCursor", "clamped"
    )
    assert understood(error) == stream_error(error) == StreamError("ConsumerTooSlow", "too slow")


def test_only_errors_are_stream_errors(created: bytes) -> None:
    """Also when a record speaks of one."""
    assert stream_error(created) is None
    assert stream_error(changed(created, record={"error": "error"})) is None
    assert stream_error(b'"error"') is None


def test_a_message_of_an_unknown_kind_passes() -> None:
    """A newer host may say more than we know."""
    raw = orjson.dumps({"did": "did:plc:abcdefghijklmnopqrstuvwx", "time_us": MICROS, "kind": "label"})

    assert understood(raw) == Passed(MICROS, AT, "#label")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"cid": "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"},
            "the record does not match its CID",
        ),
        ({"record": RECORD | {"text": "forged"}}, "the record does not match its CID"),
        ({"record": None}, "the record is not a map"),
        ({"cid": None}, "a CID is not text"),
        ({"cid": "bafy!"}, "a CID is malformed"),
        ({"cid": ""}, "a CID is malformed"),
        ({"record": {"a": {"$link": 7}}}, "a CID is not text"),
        ({"record": {"a": {"$bytes": "§"}}}, "bytes are not base64"),
        ({"record": {"a": "x" * 1_000_001}}, "an operation's record is too large"),
        ({"rkey": ".."}, "an operation's record key is malformed"),
        ({"rkey": None}, "an operation's record key is malformed"),
        ({"operation": "replace"}, "an operation's action is unknown"),
        ({"rev": "yesterday"}, "rev is not a TID"),
        ({"rev": "7zzzzzzzzzzzz"}, "rev lies in the future"),
    ],
)
def test_what_does_not_hold_is_malformed(created: bytes, fields: dict[str, object], reason: str) -> None:
    """With the number and the account, so that the cursor moves on and the repo can be looked at."""
    event = understood(changed(created, **fields))

    assert event == Malformed(MICROS, orjson.loads(created)["did"], reason, event.raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the frame is not JSON"),
        (b"[]", "the frame is not an object"),
        (b"{}", "the frame does not name its kind"),
        (b'{"$type":"message"}', "the frame does not name its kind"),
        (b"[" * 5000, "the frame is not JSON"),
        (b" " * 20_000_001, "the frame is too large"),
        (b'{"kind":"commit","time_us":9223372036854775807}', "the frame comes from after the year 9999"),
        (b"\xa1bop\x20", "the frame is not JSON"),
    ],
)
def test_what_cannot_be_read_is_malformed(raw: bytes, reason: str) -> None:
    """A relay's bytes too: a decoder is never guessed."""
    assert understood(raw) == Malformed(None, None, reason, raw)


@pytest.mark.parametrize("depth", [200, 1000])
def test_deep_nesting_is_refused(created: bytes, depth: int) -> None:
    """As deep as JSON is read at all."""
    raw = changed(created, record={"a": "deep"}).replace(b'"deep"', b"[" * depth + b"]" * depth)

    assert isinstance(understood(raw), Malformed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["$link", "$bytes", "a"]), inner),
    max_leaves=10,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        name: json_values
        | st.sampled_from(
            ["commit", "identity", "account", "error", "x#commit", "x#sync", LIKE, "did:web:a.b"]
        )
        for name in (
            "did",
            "time_us",
            "kind",
            "$type",
            "rev",
            "record",
            "cid",
            "rkey",
            "collection",
            "active",
        )
    },
)


@given(fields, fields, st.sampled_from(["commit", "account", "identity", "payload", "sync"]))
def test_it_never_raises(outer: dict[str, object], inner: dict[str, object], name: str) -> None:
    """Whatever the message is made of."""
    raw = orjson.dumps(outer | {name: inner}, option=orjson.OPT_PASSTHROUGH_SUBCLASS)

    assert len(decode_json(raw, frozenset([Nsid(LIKE)]), ("did:web:a.b",), AT)) == 1


@given(st.binary())
def test_it_never_raises_on_bytes(raw: bytes) -> None:
    """Neither does any other look at a message."""
    assert len(decode_json(raw, OURS, (), AT)) == 1
    assert stream_error(raw) is None
