"""The part of a repo that is ours has exact borders, and is held to limits of its own."""

from datetime import timedelta

import pytest

from indexer.repo import car, signing_keys
from indexer.repo.extract import RepoSlice, Trail
from indexer.repo.mst import MissingNode, MstError
from indexer.repo.verify import Refused, VerifiedHead
from schemas.ids import Did, Nsid, Rkey
from tests.network.forge import START, ForgedRepo

TRACK, PROFILE = Nsid("fm.svc.track"), Nsid("fm.svc.actor.profile")


def sliced(forged: ForgedRepo) -> RepoSlice:
    key = signing_keys.parse_key(forged.key.multibase)
    return RepoSlice(Did(forged.did), key, frozenset({TRACK, PROFILE}), forged.now)


def opened(forged: ForgedRepo) -> tuple[RepoSlice, VerifiedHead, dict[bytes, bytes]]:
    """The slice of a repo's next commit, and everything in it."""
    forged.commit_frame(1)
    whole, wanted = car.read_car(forged.whole_repo()), sliced(forged)
    return wanted, wanted.head(whole.roots, whole.blocks.get), whole.blocks


@pytest.fixture
def forged() -> ForgedRepo:
    return ForgedRepo(seed="slice")


@pytest.mark.parametrize(
    "neighbour",
    [
        "fm.svc",
        "fm.svc.trac",
        "fm.svc.track-er",
        "fm.svc.track.dev",
        "fm.svc.tracks",
        "fm.svc.actor",
        "fm.svd.track",
    ],
)
def test_neighbours_in_the_alphabet_are_not_ours(forged: ForgedRepo, neighbour: str) -> None:
    for name in (TRACK, neighbour, PROFILE):
        forged.create(name, {}, rkey="self")
        forged.create(name, {}, rkey="~")

    wanted, head, blocks = opened(forged)

    assert wanted.paths(head, blocks.get).keys() == {
        (name, Rkey(rkey)) for name in (PROFILE, TRACK) for rkey in ("self", "~")
    }


def test_nodes_of_others_are_not_missed(forged: ForgedRepo) -> None:
    """What is wanted is found with the nodes around it alone, which are told step by step."""
    for number in range(500):
        forged.create("app.bsky.feed.post", {"n": number})
    forged.create(TRACK, {}, rkey="a")
    wanted, head, blocks = opened(forged)
    held: dict[bytes, bytes] = {}

    with pytest.raises(MissingNode):
        wanted.paths(head, held.get)
    trail = Trail(wanted, head)
    while missing := trail.follow(held.get):
        held |= {node: blocks[node] for node in missing}

    assert trail.paths == wanted.paths(head, held.get)
    assert trail.paths.keys() == {(TRACK, Rkey("a"))}
    assert len(held) < 15


@pytest.mark.parametrize("rkey", [".", "..", "x" * 513])
def test_a_record_key_that_cannot_be_is_refused(forged: ForgedRepo, rkey: str) -> None:
    forged.create(TRACK, {}, rkey=rkey)
    wanted, head, blocks = opened(forged)

    with pytest.raises(MstError, match="record key"):
        wanted.paths(head, blocks.get)


def test_a_record_of_more_than_a_megabyte_is_refused(forged: ForgedRepo) -> None:
    forged.create(TRACK, {"title": "x" * 1_000_001})
    wanted, head, blocks = opened(forged)

    with pytest.raises(Refused, match="too large"):
        wanted.fetched(head, wanted.paths(head, blocks.get), blocks.get)


def test_a_car_without_its_commit_is_refused(forged: ForgedRepo) -> None:
    wanted, head, blocks = opened(forged)

    for roots in ((), (car.cid_of(b"elsewhere"),), (head.data,)):
        with pytest.raises(Refused):
            wanted.head(roots, blocks.get)


def test_a_clock_that_goes_a_little_wrong_is_forgiven(forged: ForgedRepo) -> None:
    forged.commit_frame(1, START + timedelta(minutes=4))
    whole = car.read_car(forged.whole_repo())
    forged.now = START

    assert sliced(forged).head(whole.roots, whole.blocks.get).rev == forged.rev


def test_the_topmost_keys_tell_whose_repo_it_mostly_is(forged: ForgedRepo) -> None:
    for number in range(200):
        forged.create(TRACK, {"n": number})
    wanted, head, blocks = opened(forged)
    assert wanted.is_most(blocks[head.data])

    for number in range(2000):
        forged.create("app.bsky.feed.post", {"n": number})
    wanted, head, blocks = opened(forged)
    assert not wanted.is_most(blocks[head.data])
