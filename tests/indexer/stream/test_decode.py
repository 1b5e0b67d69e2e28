"""Frames become events; whatever the bytes, the answer is a value."""

import os
from datetime import UTC, datetime, timedelta

import libipld
import pytest
from cbrrr import CID
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.events import Account, Commit, Identity, Info, Malformed, Passed, StreamError, Sync
from indexer.repo import car
from indexer.stream import envelope
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from tests.indexer.tampering import rebuilt
from tests.network import forge
from tests.network.forge import ForgedRepo

OURS = Collections().all
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
TRACK = {"title": "Lua", "artist": "Ana", "fileType": "mp3", "createdAt": "2025-01-01T00:00:00Z"}
POST = {"text": "hello", "createdAt": "2025-01-01T00:00:00Z"}
RAW_CID = b"\x01\x55\x12\x20" + bytes(32)  # of a blob, which is neither a record nor a tree
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))


def events(raw, tracked=frozenset()):
    return decode_frame(raw, OURS, tracked, NOW)


def text(cid):
    """A CID as people read it."""
    return None if cid is None else CID(cid).encode("base32")


def repo_with(*records, seed="ana"):
    repo = ForgedRepo(seed=seed)
    return repo, [repo.create(collection, record) for collection, record in records]


def test_a_track_is_found_with_its_block():
    """A create of ours carries the record's bytes and CID, and when it happened."""
    repo, [track] = repo_with(("fm.svc.track", TRACK))

    [commit] = events(repo.commit_frame(7, time=NOW))

    assert isinstance(commit, Commit)
    assert (commit.seq, commit.did, commit.rev, commit.time) == (7, repo.did, repo.rev, NOW)
    assert (commit.since, commit.prev_data) == (None, None)
    assert commit.blocks[commit.cid] == repo.commit_block
    [operation] = commit.operations
    assert (operation.action, operation.path) == ("create", f"fm.svc.track/{track.rkey}")
    assert (text(operation.cid), operation.prev) == (track.cid, None)
    assert b"Lua" in commit.blocks[operation.cid]


def test_update_and_delete_are_told_apart():
    """One commit may do both; each names the version before it."""
    repo, [first, second] = repo_with(("fm.svc.track", TRACK), ("fm.svc.track", TRACK))
    repo.commit_frame(1)
    updated = repo.update("fm.svc.track", first.rkey, {**TRACK, "title": "Sol"})
    repo.delete("fm.svc.track", second.rkey)

    [commit] = events(repo.commit_frame(2))

    assert [(each.action, each.path, text(each.cid), text(each.prev)) for each in commit.operations] == [
        ("update", f"fm.svc.track/{first.rkey}", updated.cid, first.cid),
        ("delete", f"fm.svc.track/{second.rkey}", None, second.cid),
    ]


def test_a_commit_says_what_it_follows():
    """The rev and the tree before, by which commits are chained."""
    repo, _ = repo_with(("fm.svc.track", TRACK))
    [first] = events(repo.commit_frame(1))
    repo.create("fm.svc.track", TRACK)
    [second] = events(repo.commit_frame(2))

    assert second.since == first.rev
    assert second.prev_data == libipld.decode_dag_cbor(first.blocks[first.cid])["data"]


def test_a_commit_on_other_collections_passes():
    """Only its number and time are of use."""
    repo, _ = repo_with(("app.bsky.feed.post", POST))

    assert events(repo.commit_frame(3, time=NOW)) == (Passed(3, NOW),)


@pytest.mark.parametrize(
    "collection", ["fm.svc.dev.track", "fm.svc.tracks", "fm.svc", "fm.svc.Track", "xfm.svc.track"]
)
def test_a_collection_with_a_similar_name_is_somebody_elses(collection):
    """Collections are matched exactly, never by prefix."""
    repo, _ = repo_with((collection, TRACK))

    assert events(repo.commit_frame(1, time=NOW)) == (Passed(1, NOW),)


def test_a_commit_of_ours_has_all_its_operations():
    """A post beside a track is a part of what is signed."""
    repo, [post, track] = repo_with(("app.bsky.feed.post", POST), ("fm.svc.track", TRACK))

    [commit] = events(repo.commit_frame(1))

    assert [each.path for each in commit.operations] == [
        f"app.bsky.feed.post/{post.rkey}",
        f"fm.svc.track/{track.rkey}",
    ]


def test_every_commit_of_a_tracked_account_is_read():
    """Its tree changes with each, whatever the collection; the chain must not tear."""
    repo, [post] = repo_with(("app.bsky.feed.post", POST))
    raw, nothing_done = repo.commit_frame(1), repo.commit_frame(2)

    [commit], [empty] = events(raw, {repo.did}), events(nothing_done, {repo.did})

    assert [each.path for each in commit.operations] == [f"app.bsky.feed.post/{post.rkey}"]
    assert commit.raw == raw
    assert isinstance(empty, Commit)
    assert empty.operations == ()


def test_events_of_known_accounts_are_read():
    """Account, identity and sync messages of tracked accounts become events of their own."""
    repo, _ = repo_with(("fm.svc.track", TRACK))
    repo.commit_frame(1)
    tracked = {repo.did}

    assert events(repo.account_frame(2, "takendown", NOW), tracked) == (
        Account(2, repo.did, NOW, "takendown"),
    )
    assert events(repo.account_frame(3, "active", NOW), tracked) == (Account(3, repo.did, NOW, "active"),)
    assert events(repo.identity_frame(4, "ana.example", NOW), tracked) == (Identity(4, repo.did, NOW),)
    raw = repo.sync_frame(5, NOW)
    commit = car.cid_of(repo.commit_block)
    assert events(raw, tracked) == (
        Sync(5, repo.did, repo.rev, NOW, commit, {commit: repo.commit_block}, raw),
    )


def test_events_of_strangers_pass():
    """The same messages of anybody else only move the cursor."""
    repo, _ = repo_with(("app.bsky.feed.post", POST))
    repo.commit_frame(1)

    for raw in (repo.account_frame(2, time=NOW), repo.identity_frame(2, time=NOW), repo.sync_frame(2, NOW)):
        assert events(raw) == (Passed(2, NOW),)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"active": False, "status": "deactivated"}, "deactivated"),
        ({"active": False}, "inactive"),
        ({"active": False, "status": "active"}, "inactive"),
        ({"active": False, "status": ""}, "inactive"),
        ({"active": False, "status": "x" * 65}, "inactive"),
        ({"active": False, "status": 5}, "inactive"),
        ({"active": True, "status": "throttled"}, "active"),
    ],
)
def test_an_account_that_is_not_active_always_has_a_status(fields, status):
    """The status is told only while the account is not active, and bounded."""
    raw = forge.frame("#account", {"seq": 1, "did": "did:plc:x", "time": "2025-01-01T00:00:00Z", **fields})

    [account] = events(raw, {"did:plc:x"})

    assert account.status == status


def test_notes_and_errors_of_the_server_are_read():
    """Neither has a sequence number; long texts are cut."""
    assert events(forge.info_frame("OutdatedCursor", "too old")) == (Info("OutdatedCursor", "too old"),)
    assert events(forge.error_frame("FutureCursor", "x" * 1000)) == (StreamError("FutureCursor", "x" * 300),)


def test_an_unknown_type_passes_and_is_named():
    """A type that a later protocol brings moves the cursor and can be counted."""
    raw = forge.frame("#tombstone", {"seq": 9, "did": "did:plc:x", "time": "2025-01-01T12:00:00Z"})

    assert events(raw) == (Passed(9, NOW, unknown="#tombstone"),)


def test_a_commit_without_a_record_of_ours_is_kept_whole():
    """Nothing is salvaged from it; what is true is asked of the account's server."""
    repo, [_, bad] = repo_with(("fm.svc.track", TRACK), ("fm.svc.track", TRACK | {"title": "Sol"}))
    raw = without_block(repo.commit_frame(1), bad.cid)

    assert events(raw) == (Malformed(1, repo.did, "an operation's record is not in the CAR", raw),)


def test_a_record_of_others_may_be_left_out_of_the_car():
    """It is not ours to store, and its CID suffices to verify the commit."""
    repo, [_, post] = repo_with(("fm.svc.track", TRACK), ("app.bsky.feed.post", POST))

    [commit] = events(without_block(repo.commit_frame(1), post.cid))

    assert len(commit.operations) == 2


def without_block(raw, cid):
    """A commit whose CAR lacks one record."""
    _, body = envelope.unwrap_frame(raw)
    opened = car.read_car(body["blocks"])
    kept = [(each, block) for each, block in opened.blocks.items() if text(each) != cid]
    return rebuilt(body, blocks=car.write_car(opened.roots, kept))


def commit_of_one_track():
    repo, [track] = repo_with(("fm.svc.track", TRACK))
    return repo, track, envelope.unwrap_frame(repo.commit_frame(1))[1]


def test_a_block_under_a_wrong_cid_is_refused():
    """The hash decides, not the label."""
    _, _, body = commit_of_one_track()
    blocks = car.read_car(body["blocks"])
    swapped = [(cid, block + b" ") for cid, block in blocks.blocks.items()]

    [malformed] = events(rebuilt(body, blocks=car.write_car(blocks.roots, swapped)))

    assert malformed.reason == "a block does not match its CID"


def test_the_cars_root_is_the_commit_that_the_message_names():
    """One commit cannot come under the name of another."""
    _, _, body = commit_of_one_track()
    opened = car.read_car(body["blocks"])
    no_root, two_roots = (
        car.write_car([], opened.blocks.items()),
        car.write_car(opened.roots * 2, opened.blocks.items()),
    )

    for changes, reason in [
        ({"commit": car.cid_of(b"another")}, "the CAR is of another commit"),
        ({"blocks": no_root}, "the commit object is not in the CAR"),
        ({"blocks": two_roots}, "the commit object is not in the CAR"),
        ({"blocks": car.write_car(opened.roots, [])}, "the commit object is not in the CAR"),
    ]:
        [malformed] = events(rebuilt(body, **changes))
        assert malformed.reason == reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"repo": "did:PLC:x"}, "repo is not a DID"),
        ({"repo": 5}, "repo is not a DID"),
        ({"repo": "did:plc:" + "x" * 3000}, "repo is not a DID"),
        ({"rev": "3lenax2vtp22"}, "rev is not a TID"),
        ({"rev": "zzzzzzzzzzzzz"}, "rev is not a TID"),
        ({"seq": -1}, "seq is not a number"),
        ({"seq": True}, "seq is not a number"),
        ({"seq": 2**63}, "seq is not a number"),
        ({"since": 5}, "since is not a TID"),
        ({"since": "3lenax2vtp22"}, "since is not a TID"),
        ({"since": "3lenax2vtp222"}, "rev does not follow since"),
        ({"prevData": RAW_CID}, "prevData is not a CID"),
        ({"blocks": None}, "the message has no blocks"),
        ({"blocks": b""}, "the CAR is truncated"),
        ({"blocks": bytes(2_000_001)}, "the CAR is too large"),
        (
            {"ops": [{"path": "fm.svc.track/a", "action": "delete"}] * 201},
            "the commit has too many operations",
        ),
    ],
)
def test_a_commit_of_ours_with_a_broken_envelope_is_kept(changes, reason):
    """Syntax and limits are checked before anything is believed."""
    _, _, body = commit_of_one_track()
    raw = rebuilt(body, **changes)

    [malformed] = events(raw)

    assert (malformed.reason, malformed.raw) == (reason, raw)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"path": "fm.svc.track/a/b", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "fm.svc.track/", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "fm.svc.track", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "fm.svc.track/..", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "fm.svc.track/a\0", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "fm.svc.track/a", "action": "rename"}, "an operation's action is unknown"),
        ({"path": "fm.svc.track/a", "action": None}, "an operation's action is unknown"),
        ({"path": "fm.svc.track/a", "action": "create", "cid": None}, "an operation names no CID"),
        ({"path": "fm.svc.track/a", "action": "create", "cid": "bafy"}, "cid is not a CID"),
        (
            {"path": "fm.svc.track/a", "action": "update", "cid": car.cid_of(b"absent")},
            "an operation's record is not in the CAR",
        ),
        ({"path": "fm.svc.track/a", "action": "delete", "cid": car.cid_of(b"x")}, "a delete names a CID"),
        ({"path": "fm.svc.track/a", "action": "delete", "prev": RAW_CID}, "prev is not a CID"),
        ({"path": "app.bsky.feed.post/a b", "action": "delete"}, "an operation's record key is malformed"),
        ({"path": "/fm.svc.track", "action": "delete"}, "an operation's collection is malformed"),
        ({"path": "track/a", "action": "delete"}, "an operation's collection is malformed"),
        (
            {
                "path": "fm.svc.track/a",
                "action": "create",
                "cid": car.cid_of(b"x"),
                "prev": car.cid_of(b"y"),
            },
            "a create names a version before it",
        ),
        ({"action": "delete"}, "an operation has no path"),
        ({"path": 7, "action": "delete"}, "an operation has no path"),
        ("fm.svc.track/a", "an operation has no path"),
    ],
)
def test_one_bad_operation_spoils_the_commit(operation, reason):
    """Each way to spell an operation wrongly has its reason."""
    _, _, body = commit_of_one_track()
    raw = rebuilt(body, ops=[*body["ops"], operation])

    [malformed] = events(raw)

    assert (malformed.reason, malformed.raw) == (reason, raw)


def test_two_operations_on_one_record_are_not_guessed_at():
    _, _, body = commit_of_one_track()

    [malformed] = events(rebuilt(body, ops=body["ops"] * 2))

    assert malformed.reason == "two operations are on one record"


def test_a_record_over_a_megabyte_is_refused():
    """The protocol's limit for one record."""
    repo, _ = repo_with(("fm.svc.track", TRACK | {"description": "x" * 1_000_000}))

    [malformed] = events(repo.commit_frame(1))

    assert malformed.reason == "an operation's record is too large"


def test_a_rev_far_ahead_of_its_message_is_refused():
    """It would win over every later version for ever; a clock five minutes fast is forgiven."""
    repo, _ = repo_with(("fm.svc.track", TRACK))
    body = envelope.unwrap_frame(repo.commit_frame(1, time=NOW))[1]

    [early] = events(rebuilt(body, time=forge._iso(NOW - timedelta(minutes=5, seconds=1))))
    [close] = events(rebuilt(body, time=forge._iso(NOW - timedelta(minutes=4, seconds=59))))

    assert early.reason == "rev lies in the future"
    assert isinstance(close, Commit)


def test_a_message_cannot_vouch_for_its_own_future():
    """Both rev and time may be false; our own clock is not."""
    repo, _ = repo_with(("fm.svc.track", TRACK))
    future = NOW + timedelta(days=1)
    frames = repo.commit_frame(1, time=future), repo.sync_frame(2, time=future)

    assert [events(raw, {repo.did})[0].reason for raw in frames] == ["rev lies in the future"] * 2


@pytest.mark.parametrize(
    "time", [None, 5, "", "yesterday", "2025-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "9" * 5000]
)
def test_a_time_that_cannot_be_read_loses_no_record(time):
    """The instant of receipt stands in for it; for strangers there is none."""
    _, _, body = commit_of_one_track()
    stranger, _ = repo_with(("app.bsky.feed.post", POST))

    [commit] = events(rebuilt(body, time=time))
    [passed] = events(stranger.commit_frame(2, **{"time": time} if time is None else {}))

    assert commit.time == NOW
    assert passed.seq == 2


def test_times_with_another_offset_are_read_as_utc():
    """A relay may write nanoseconds and offsets."""
    _, _, body = commit_of_one_track()

    [commit] = events(rebuilt(body, time="2025-01-01T14:00:00.123456789+02:00"))

    assert commit.time == datetime(2025, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_a_commit_too_big_to_list_is_kept_for_known_accounts():
    """It may hide operations of ours; of strangers it says nothing."""
    repo = ForgedRepo(seed="ana")
    raw = repo.commit_frame(1, time=NOW, tooBig=True)

    [malformed] = events(raw, {repo.did})

    assert malformed == Malformed(1, repo.did, "the commit is marked too big to list its operations", raw)
    assert events(raw) == (Passed(1, NOW),)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the frame is not a header and a body"),
        (b"\xff", "the frame is not DAG-CBOR"),
        (b'{"kind":"commit"}', "the frame is not DAG-CBOR"),
        (b"\x81" * 100_000, "the frame is not DAG-CBOR"),
        (b"\x9b" + b"\xff" * 8, "the frame is not DAG-CBOR"),
        (b"\x5b\x7f" + b"\xff" * 7, "the frame is not DAG-CBOR"),
        (b"\xa0", "the frame is not a header and a body"),
        (b"\xa0\xa0\xa0", "the frame is not a header and a body"),
        (b"\x01\x02", "the frame is not a header and a body"),
        (b"\xa0\xa0", "the frame's header names neither a message nor an error"),
        (b"\xa1bop\x02\xa0", "the frame's header names neither a message nor an error"),
        (b"\xa2at\x01bop\x01\xa0", "the frame's header names neither a message nor an error"),
        (bytes(5_000_001), "the frame is too large"),
    ],
)
def test_bytes_that_are_no_frame_are_kept(raw, reason):
    """Text, cut CBOR, absurd lengths and depths: a reason and the bytes."""
    assert events(raw) == (Malformed(None, None, reason, raw),)


def test_a_message_without_fields_is_kept():
    """Every message that could be ours is checked for what it needs."""
    for kind in ("#commit", "#account", "#identity", "#sync"):
        [malformed] = events(forge.frame(kind, {}))
        assert isinstance(malformed, Malformed)


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200))
def test_random_bytes_never_raise(raw):
    """Noise is answered with events that carry it."""
    for event in events(raw):
        assert isinstance(event, Malformed | Passed | Info | StreamError)


SAMPLES = []


def samples():
    """Real frames, each with the events that it means."""
    if not SAMPLES:
        repo, written = repo_with(("fm.svc.track", TRACK), ("fm.svc.track", TRACK | {"title": "Sol"}))
        raws = [repo.commit_frame(1)]
        repo.update("fm.svc.track", written[0].rkey, TRACK | {"album": "Mar"})
        repo.delete("fm.svc.track", written[1].rkey)
        raws += [repo.commit_frame(2), repo.account_frame(3, "deleted"), repo.identity_frame(4)]
        raws += [repo.sync_frame(5), forge.info_frame(), forge.error_frame()]
        SAMPLES.extend((repo.did, raw, events(raw, {repo.did})) for raw in raws)
    return SAMPLES


@settings(max_examples=EXAMPLES * 3)
@given(st.data())
def test_damaged_frames_never_raise_and_never_give_a_false_record(data):
    """Bits flipped, cut, doubled or swapped: every record that still comes out is one that was signed."""
    did, raw, _ = data.draw(st.sampled_from(samples()))
    damaged = data.draw(damage(raw))

    for event in events(damaged, {did}):
        if isinstance(event, Commit):
            assert all(block_is_genuine(block) for block in event.blocks.values())
        elif isinstance(event, Malformed):
            assert event.raw == damaged


def block_is_genuine(block):
    commits = [event for _, _, meant in samples() for event in meant if isinstance(event, Commit)]
    return any(block in commit.blocks.values() for commit in commits)


@st.composite
def damage(draw, raw):
    """A few bit flips, then perhaps a cut, a swap of two slices, or the frame twice."""
    damaged = bytearray(raw)
    for _ in range(draw(st.integers(0, 3))):
        damaged[draw(st.integers(0, len(damaged) - 1))] ^= 1 << draw(st.integers(0, 7))
    first, second = sorted((draw(st.integers(0, len(raw))), draw(st.integers(0, len(raw)))))
    match draw(st.sampled_from(["keep", "cut", "swap", "drop", "twice"])):
        case "cut":
            return bytes(damaged[:first])
        case "swap":
            return bytes(damaged[first:second] + damaged[:first] + damaged[second:])
        case "drop":
            return bytes(damaged[:first] + damaged[second:])
        case "twice":
            return bytes(damaged * 2)
    return bytes(damaged)


def test_undamaged_frames_give_what_was_written():
    """The samples of the damage test are good frames."""
    meant = [type(event) for _, _, events_of in samples() for event in events_of]

    assert meant == [Commit, Commit, Account, Identity, Sync, Info, StreamError]
