"""A repo is fetched whole as far as it is ours, proven, by either way; or not at all."""

import itertools
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import libipld
import pytest

from indexer.network.http.client import Answered, Outbound, TooLarge, Unreachable
from indexer.network.identity import did_documents
from indexer.network.identity.dns import Dns
from indexer.network.xrpc import RepoGone
from indexer.repo import car, extract, signing_keys
from indexer.repo.car import CarError
from indexer.repo.extract import Fetched
from indexer.repo.mst import MissingNode
from indexer.repo.signing_keys import Key
from indexer.repo.verify import Refused
from indexer.sync import fetch as repos
from indexer.sync.spool import SpoolFull, Spools
from schemas.collections import Collections
from schemas.ids import Cid, Did, Nsid, Rkey, Tid
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.gate import Corrupt
from tests.network.pds import Account, Write
from tests.network.relay import Cut, Refuse
from tests.network.scripted_pds import ScriptedPds
from tests.network.testnet import Testnet

OURS = Collections()
POST = "app.bsky.feed.post"
LATER = timedelta(minutes=1)


class Fetching:
    """Everything that a fetch needs besides the repo."""

    def __init__(self, outbound: Outbound, scratch: Path) -> None:
        self.outbound = outbound
        self.scratch = scratch
        self.spools = Spools(scratch)

    async def __call__(self, url: str, forged: ForgedRepo, key: Key | None = None) -> Fetched:
        key = key or signing_keys.parse_key(forged.key.multibase)
        now, did = forged.now + LATER, Did(forged.did)
        return await repos.fetch_repo(self.outbound, url, did, key, OURS.all, now, spools=self.spools)


@pytest.fixture
async def fetch(tmp_path: Path) -> AsyncIterator[Fetching]:
    async with Outbound(Dns(), allow_loopback=True) as outbound:
        yield Fetching(outbound, tmp_path / "scratch")


def filled(seed: str = "repo", ours: int = 40, others: int = 200) -> ForgedRepo:
    """A repo of a person who mostly does other things, on this network's other environments too."""
    forged, chance = ForgedRepo(seed=seed), random.Random(seed)
    elsewhere = [POST, "app.bsky.graph.follow", "fm.svc.dev.track", "fm.svc.lists", "zone.other.thing"]
    for name in [*chance.choices(sorted(OURS.all), k=ours), *chance.choices(elsewhere, k=others)]:
        forged.create(name, {"n": chance.getrandbits(32)})
    forged.commit_frame(1)
    return forged


def ours_of(forged: ForgedRepo) -> dict[tuple[Nsid, Rkey], tuple[Cid, bytes]]:
    records = {}
    for path in forged.paths:
        name, _, rkey = path.partition("/")
        cid, block = forged.record(path)
        if name in OURS.all:
            records[Nsid(name), Rkey(rkey)] = Cid(cid), block
    return records


async def test_only_what_is_ours_is_asked_for(fetch: Fetching) -> None:
    """The tree's nodes around our collections and our records, a hundred at a time."""
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        fetched = await fetch(net.url, forged)

    assert fetched == Fetched(Did(forged.did), Tid(forged.rev or ""), fetched.data, ours_of(forged))
    assert net.asked.keys() == {"getRecord", "getBlocks"}


@pytest.mark.parametrize("missing", ["getBlocks", "getRecord"])
async def test_a_server_that_cannot_do_that_sends_everything(fetch: Fetching, missing: str) -> None:
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.missing.add(missing)

        fetched = await fetch(net.url, forged)

    assert fetched.records == ours_of(forged)
    assert net.asked["getRepo"] == 1
    assert list(fetch.scratch.iterdir()) == []


async def test_a_repo_that_is_all_ours_comes_in_one_piece(fetch: Fetching) -> None:
    """That costs one request instead of one for each hundred blocks."""
    forged = filled(ours=300, others=0)
    async with ForgedNetwork([forged]) as net:
        fetched = await fetch(net.url, forged)

    assert len(fetched.records) == 300
    assert net.asked == {"getRecord": 1, "getRepo": 1}


async def test_a_repo_that_weighs_much_comes_onto_the_disk(
    fetch: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few records can be as long as many: what is in memory on the sparse way is limited by its bytes."""
    monkeypatch.setattr(repos, "SPARSE_BYTES", 100_000)
    forged = filled(ours=0)
    for number in range(150):
        forged.create(OURS.track, {"n": number, "text": "x" * 1000})
    forged.commit_frame(2)
    async with ForgedNetwork([forged]) as net:
        fetched = await fetch(net.url, forged)

    assert fetched.records == ours_of(forged)
    assert net.asked["getRepo"] == 1


@pytest.mark.parametrize("limit", ["MAX_RECORDS", "MAX_BYTES"])
@pytest.mark.parametrize("missing", ["getBlocks", "nothing"])
async def test_a_repo_that_is_too_large_is_not_worth_another_try(
    fetch: Fetching, limit: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, limit, 39)
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.missing.add(missing)

        with pytest.raises(TooLarge, match="more than 39") as too_large:
            await fetch(net.url, forged)

    assert not too_large.value.transient


@pytest.mark.parametrize(("ours", "others"), [(0, 0), (1, 0), (0, 1), (0, 300), (3, 300), (500, 300)])
async def test_both_ways_find_the_same(fetch: Fetching, ours: int, others: int) -> None:
    forged = filled(f"{ours} of {others}", ours, others)
    async with ForgedNetwork([forged]) as net:
        sparse = await fetch(net.url, forged)
        net.missing.add("getBlocks")
        whole = await fetch(net.url, forged)

    assert sparse == whole
    assert len(whole.records) == ours


async def test_a_repo_that_moves_meanwhile_is_begun_again(fetch: Fetching) -> None:
    """Its old nodes are gone; what comes out is the newer commit, whole."""

    class Moving(ForgedRepo):
        def some_blocks(self, cids: object) -> bytes | None:
            if self.now < moved:
                self.create(OURS.like, {"late": True})
                self.commit_frame(2, moved)
                return None
            return super().some_blocks(cids)  # type: ignore[arg-type]

    forged = Moving(seed="moving")
    for number in range(200):
        forged.create(POST, {"n": number})
        forged.create(OURS.like, {"n": number})
    forged.commit_frame(1)
    moved = forged.now + timedelta(seconds=1)
    async with ForgedNetwork([forged]) as net:
        fetched = await fetch(net.url, forged)

    assert fetched.rev == forged.rev
    assert len(fetched.records) == 201
    assert net.asked["getRecord"] == 2


@pytest.mark.parametrize("fault", [Refuse(400), Corrupt(), Refuse(404)])
async def test_odd_answers_to_the_sparse_way_lead_to_the_whole_repo(
    fetch: Fetching, fault: Refuse | Corrupt
) -> None:
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.faults["getBlocks"] = itertools.repeat(fault)

        fetched = await fetch(net.url, forged)

    assert fetched.records == ours_of(forged)
    assert net.asked["getRecord"] <= 3
    assert net.asked["getRepo"] == 1


@pytest.mark.parametrize("status", ["deactivated", "takendown", "suspended", "deleted"])
@pytest.mark.parametrize("method", ["getRecord", "getRepo"])
async def test_a_repo_that_is_not_to_be_had_is_a_state(fetch: Fetching, status: str, method: str) -> None:
    """Whichever request is told so."""
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.status[forged.did] = status
        net.missing.add("getRecord" if method == "getRepo" else "getBlocks")

        with pytest.raises(RepoGone) as gone:
            await fetch(net.url, forged)

    assert gone.value.status == status


async def test_a_server_that_wants_a_pause_is_not_asked_another_way(fetch: Fetching) -> None:
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.faults["getBlocks"] = iter([Refuse(429, retry_after="7")])

        with pytest.raises(Answered) as refusal:
            await fetch(net.url, forged)

    assert (refusal.value.status, refusal.value.retry_after) == (429, 7.0)
    assert net.asked["getRepo"] == 0


@pytest.mark.parametrize("missing", ["getBlocks", "getRepo"])
async def test_a_key_that_is_not_the_accounts_proves_nothing(fetch: Fetching, missing: str) -> None:
    forged, stranger = filled(), ForgedRepo(seed="stranger")
    async with ForgedNetwork([forged]) as net:
        net.missing.add(missing)

        with pytest.raises(Refused, match="signature"):
            await fetch(net.url, forged, signing_keys.parse_key(stranger.key.multibase))


async def test_a_rev_of_the_future_is_refused(fetch: Fetching) -> None:
    """It would win against every honest version for ever."""
    forged = filled()
    forged.commit_frame(2, forged.now + timedelta(hours=1))
    forged.now -= timedelta(hours=1)
    async with ForgedNetwork([forged]) as net:
        with pytest.raises(Refused, match="future"):
            await fetch(net.url, forged)


def serving_repo(body: bytes) -> ScriptedPds:
    """A PDS that has getRepo alone, and answers it with these bytes."""
    return ScriptedPds({"com.atproto.sync.getRepo": body})


async def test_blocks_come_in_any_order_with_others_among_them(fetch: Fetching) -> None:
    forged = filled()
    roots, blocks = car.split_car(forged.whole_repo())
    stray = libipld.encode_dag_cbor({"nobody": "asked"})
    random.Random(1).shuffle(blocks)
    async with serving_repo(
        car.write_car(roots, [*blocks, (car.cid_of(stray), stray), *blocks[:50]])
    ) as server:
        fetched = await fetch(server.url, forged)

    assert fetched.records == ours_of(forged)


async def test_another_accounts_repo_is_refused(fetch: Fetching) -> None:
    forged, other = filled(), filled("other")
    async with serving_repo(other.whole_repo()) as server:
        with pytest.raises(Refused, match="another account"):
            await fetch(server.url, forged)


async def test_a_block_under_a_wrong_cid_is_refused(fetch: Fetching) -> None:
    """Even one that is not on our way."""
    forged = filled()
    roots, blocks = car.split_car(forged.whole_repo())
    stray = libipld.encode_dag_cbor({"nobody": "asked"})
    async with serving_repo(car.write_car(roots, [*blocks, (blocks[-1][0], stray)])) as server:
        with pytest.raises(CarError, match="does not match"):
            await fetch(server.url, forged)


@pytest.mark.parametrize("left_out", ["a node", "a record", "the commit"])
async def test_a_repo_with_a_hole_is_refused(fetch: Fetching, left_out: str) -> None:
    """What is not there cannot be told from what was deleted."""
    forged = filled()
    roots, blocks = car.split_car(forged.whole_repo())
    records = {block for _, block in ours_of(forged).values()}
    first = {
        "the commit": blocks[0],
        "a node": blocks[1],
        "a record": next(pair for pair in blocks if pair[1] in records),
    }[left_out]
    blocks.remove(first)
    async with serving_repo(car.write_car(roots, blocks)) as server:
        with pytest.raises((Refused, MissingNode), match=r"missing|no commit"):
            await fetch(server.url, forged)


async def test_a_car_that_breaks_off_is_refused(fetch: Fetching) -> None:
    forged = filled()
    whole = forged.whole_repo()
    async with serving_repo(whole[:-3]) as server:
        with pytest.raises(CarError, match="truncated"):
            await fetch(server.url, forged)
    async with serving_repo(b"") as server:
        with pytest.raises(CarError, match="truncated"):
            await fetch(server.url, forged)


async def test_a_connection_that_breaks_off_is_worth_another_try(fetch: Fetching) -> None:
    forged = filled()
    async with ForgedNetwork([forged]) as net:
        net.missing.add("getBlocks")
        net.faults["getRepo"] = iter([Cut(after=2000)])

        with pytest.raises(Unreachable):
            await fetch(net.url, forged)
        fetched = await fetch(net.url, forged)

    assert fetched.records == ours_of(forged)


async def test_a_disk_that_fails_for_a_moment_is_worth_another_try(fetch: Fetching) -> None:
    forged = filled()
    fetch.scratch.write_bytes(b"in the way")
    async with ForgedNetwork([forged]) as net:
        net.missing.add("getBlocks")

        with pytest.raises(SpoolFull) as no_room:
            await fetch(net.url, forged)
        fetch.scratch.unlink()
        fetched = await fetch(net.url, forged)

    assert no_room.value.transient
    assert fetched.records == ours_of(forged)


@pytest.mark.parametrize("record", [b"\xa1\x61n\x18\x01", b"\x81" * 1100 + b"\x01"], ids=["longhand", "deep"])
async def test_a_record_that_cannot_be_read_fails_no_fetch(fetch: Fetching, record: bytes) -> None:
    """It is signed and in the tree; what it says is looked at when it is stored."""
    forged = ForgedRepo(seed="longhand")
    forged.create(OURS.like, record)
    forged.create(OURS.like, {"n": 1})
    forged.commit_frame(1)
    async with ForgedNetwork([forged]) as net:
        fetched = await fetch(net.url, forged)

    assert fetched.records == ours_of(forged)


async def fetched_from(net: Testnet, fetch: Fetching, account: Account) -> Fetched:
    """The account's repo from its real server, held to the key in its real DID document."""
    async with net.pds[0].session.get(f"{net.plc_url}/{account.did}") as response:
        document = did_documents.parse_document(Did(account.did), await response.read(), allow_loopback=True)
    key, now = signing_keys.parse_key(document.signing_key or ""), datetime.now(UTC)
    pds, did = net.pds[0].url, Did(account.did)
    return await repos.fetch_repo(fetch.outbound, pds, did, key, OURS.all, now, spools=fetch.spools)


@pytest.mark.network
@pytest.mark.parametrize("elsewhere", [("com.example.post", "fm.svc.dev.track", "zone.other.thing"), ()])
async def test_a_real_server_gives_what_it_lists(
    fetch: Fetching, net: Testnet, elsewhere: tuple[str, ...]
) -> None:
    """By the sparse way, and in one piece."""
    account = await net.pds[0].create_account(f"fetched-{len(elsewhere)}.test")
    for name in (OURS.track, OURS.like, *elsewhere):
        await account.apply_writes(*[Write("create", name, f"key{n}", {"n": n}) for n in range(40)])
        await account.apply_writes(*[Write("delete", name, f"key{n}") for n in range(20)])

    fetched = await fetched_from(net, fetch, account)

    listed: dict[tuple[str, str], str] = {}
    for name in (OURS.track, OURS.like):
        page = await net.pds[0].get(
            "com.atproto.repo.listRecords", repo=account.did, collection=name, limit="100"
        )
        listed |= {(name, record["uri"].rsplit("/", 1)[1]): record["cid"] for record in page["records"]}
    assert {path: cid for path, (cid, _) in fetched.records.items()} == listed
    assert len(listed) == 40


@pytest.mark.network
async def test_a_real_server_tells_why_it_gives_nothing(fetch: Fetching, net: Testnet) -> None:
    account = await net.pds[0].create_account("fetched-gone.test")

    await account.deactivate()
    with pytest.raises(RepoGone, match="deactivated"):
        await fetched_from(net, fetch, account)
    await account.activate()
    await net.pds[0].set_takedown(account.did, True)
    with pytest.raises(RepoGone, match="takendown"):
        await fetched_from(net, fetch, account)
    await account.delete_account()
    with pytest.raises(RepoGone, match="deleted"):
        await fetched_from(net, fetch, account)
