"""Commits of strangers pass at a glance; whatever might concern us does not."""

import os

import pytest
from cbrrr import CID
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.events import Malformed, Passed
from indexer.repo import car, limits
from indexer.stream.decode import decode_frame
from indexer.stream.prefilter import Prefilter
from schemas.collections import Collections
from schemas.ids import Nsid
from tests.indexer.tampering import body_of, rebuilt
from tests.network import forge
from tests.network.forge import START, ForgedRepo

OURS = Collections().all
POST = "app.bsky.feed.post"
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
ANOTHER = "did:plc:" + "a" * 24
IMITATED = b"drepox\x20" + ANOTHER.encode()


def passes(raw, tracked=(), collections=OURS):
    return Prefilter(collections, tracked).passes(raw)


@pytest.fixture
def repo():
    repo = ForgedRepo(seed="ana")
    repo.create("app.bsky.actor.profile", {}, rkey="self")
    repo.commit_frame(1)
    return repo


def post(repo, **envelope):
    """A commit of one post."""
    repo.create(POST, {"text": "hello"})
    return repo.commit_frame(2, **envelope)


def operated(raw, **changes):
    """The same commit, its one operation changed."""
    body = body_of(raw)
    return rebuilt(body, ops=[body["ops"][0] | changes])


def test_a_strangers_commit_of_one_operation_passes(repo):
    """A first commit, which follows nothing; a create, an update and a delete."""
    first = ForgedRepo(seed="bea")
    created = repo.create(POST, {"text": "hello"})
    frames = [post(first), repo.commit_frame(2)]
    repo.update(POST, created.rkey, {"text": "bye"})
    frames.append(repo.commit_frame(3))
    repo.delete(POST, created.rkey)
    frames.append(repo.commit_frame(4))

    assert all(map(passes, frames))


@pytest.mark.parametrize("collection", sorted(OURS))
@pytest.mark.parametrize("change", ["create", "update", "delete"])
def test_no_commit_on_our_collections_passes(repo, collection, change):
    repo.create(collection, {}, rkey="a")
    created = repo.commit_frame(2)
    if change == "update":
        repo.update(collection, "a", {"title": "b"})
    elif change == "delete":
        repo.delete(collection, "a")

    assert not passes(created if change == "create" else repo.commit_frame(3))


def test_no_commit_of_an_account_of_ours_passes(repo):
    raw = post(repo)

    assert passes(raw, {ANOTHER})
    assert not passes(raw, {repo.did})


@pytest.mark.parametrize("operations", [1, 2])
def test_an_account_with_an_unprocessed_record_of_ours_is_no_stranger(repo, operations):
    """It becomes one of ours when the record is applied: before the next bunch is taken."""
    for _ in range(operations):
        repo.create("fm.svc.like", {})
    ours, after = repo.commit_frame(2), post(repo)
    prefilter = Prefilter(OURS, ())

    assert [prefilter.passes(ours), prefilter.passes(after)] == [False, False]
    prefilter.begin()
    assert not prefilter.passes(after)
    prefilter.begin()
    prefilter.begin()
    assert prefilter.passes(after)


def test_messages_of_other_kinds_are_decoded(repo):
    """Notes, errors, syncs, accounts, identities, commits of none or many operations, and what is unknown."""
    nothing_done = repo.commit_frame(2)
    repo.create(POST, {"text": "one"})
    repo.create(POST, {"text": "two"})
    frames = [
        nothing_done,
        repo.commit_frame(3),
        repo.sync_frame(4),
        repo.account_frame(5),
        repo.identity_frame(6),
        forge.info_frame(),
        forge.error_frame(),
        forge.frame("#tombstone", {"seq": 9, "did": ANOTHER}),
        b"",
        b"\xff",
        b'{"kind": "commit"}',
    ]

    assert not any(map(passes, frames))


def test_a_frame_over_the_limit_is_decoded(repo):
    raw = post(repo)

    assert not passes(raw + bytes(limits.MAX_FRAME_BYTES))


def test_names_with_no_common_beginning_leave_every_frame_to_the_decoder(repo):
    assert not passes(post(repo), collections=frozenset((Nsid("fm.svc.like"), Nsid("org.example.like"))))


@pytest.mark.parametrize("path", ["{}", "fm.svc.like/{}", "app.bsky.feed.post/{}"])
def test_a_path_that_imitates_the_repo_hides_no_record_of_ours(repo, path):
    """Of an account of ours it lets a commit pass at most that touches nothing of ours."""
    raw = operated(post(repo), path=path.format(IMITATED.decode()))

    assert passes(raw, {repo.did}) is ("fm.svc" not in path)


@pytest.mark.parametrize(
    "operation",
    [
        {"aaa": IMITATED.decode(), "cid": CID(car.cid_of(b"x")), "path": "fm.svc.like/a", "action": "create"},
        {
            "cid": CID(car.cid_of(b"x")),
            "aaaa": IMITATED.decode(),
            "path": "fm.svc.like/a",
            "action": "create",
        },
        {"cid": None, "aaaa": IMITATED.decode() * 2, "path": "fm.svc.like/a", "action": "delete"},
        {"cid": "dpath" * 20 + IMITATED.decode(), "path": "fm.svc.like/a", "action": "create"},
    ],
)
def test_nothing_before_a_path_can_hide_it(repo, operation):
    """Only a CID may come before it, of the one length that CIDs have."""
    assert not passes(rebuilt(body_of(post(repo)), ops=[operation]))


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_what_passes_is_nothing_to_the_decoder_either(data):
    """Damaged in any way: of what passes, the decoder makes nothing of ours but a dead letter."""
    repo = ForgedRepo(seed="ana")
    for collection in data.draw(st.lists(st.sampled_from([POST, "fm.svc.like"]), min_size=1, max_size=2)):
        repo.create(collection, {"text": "hello"})
    damaged = bytearray(repo.commit_frame(1))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, min(250, len(damaged) - 1)))
        damaged[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"x", b"f", b"\xf6", IMITATED, b"dpath", b"fm.svc.like/a"])
        )
    raw = bytes(damaged)

    if passes(raw):
        [event] = decode_frame(raw, OURS, (), START)
        assert isinstance(event, Passed | Malformed)


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=100), st.integers(0, 400))
def test_cut_frames_and_noise_never_raise(noise, length):
    prefilter, raw = Prefilter(OURS, ()), post(ForgedRepo(seed="ana"))

    for tried in (
        noise,
        raw[:length],
        raw[:length] + noise,
        raw[:length] + b"drepox",
        raw[:74] + b"drepox\xff",
    ):
        prefilter.passes(tried)
