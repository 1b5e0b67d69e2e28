"""The forged network answers like a directory, a PDS and a relay, and goes wrong when told to."""

import itertools
from typing import Any

import aiohttp
import libipld
import orjson
import pytest

from indexer.network.identity import did_documents
from indexer.repo import car
from schemas.ids import Did
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.gate import Corrupt
from tests.network.relay import Cut, Refuse

THING = "fm.svc.thing"


@pytest.fixture
def repo() -> ForgedRepo:
    forged = ForgedRepo(seed="hosted")
    for number in range(5):
        forged.create(THING, {"number": number}, rkey=f"number-{number}")
    forged.commit_frame(1)
    return forged


async def get(net: ForgedNetwork, method: str, **params: Any) -> tuple[int, bytes]:
    url = f"{net.url}/xrpc/com.atproto.{method}"
    async with aiohttp.ClientSession() as session, session.get(url, params=params) as response:
        return response.status, await response.read()


async def test_a_document_names_key_handle_and_server(repo: ForgedRepo) -> None:
    """What the indexer reads of it is what the network is."""
    async with ForgedNetwork([repo]) as net, aiohttp.ClientSession() as session:
        async with session.get(f"{net.url}/{repo.did}") as response:
            document = did_documents.parse_document(Did(repo.did), await response.read(), allow_loopback=True)
        _, found = await get(net, "identity.resolveHandle", handle=document.handle)

        assert (document.pds, document.signing_key) == (net.url, repo.key.multibase)
        assert orjson.loads(found) == {"did": repo.did}


async def test_a_repo_is_had_whole_by_record_and_by_block(repo: ForgedRepo) -> None:
    """The blocks of a proof can be asked for one by one, and all are in the whole."""
    async with ForgedNetwork([repo]) as net:
        _, whole = await get(net, "sync.getRepo", did=repo.did)
        _, proof = await get(net, "sync.getRecord", did=repo.did, collection=THING, rkey="number-2")
        cids = [libipld.encode_multibase("b", cid) for cid in car.read_car(proof).blocks]
        _, blocks = await get(net, "sync.getBlocks", did=repo.did, cids=cids)
        missing, _ = await get(net, "sync.getBlocks", did=repo.did, cids=[car_cid(b"nothing")])

    assert car.read_car(blocks).blocks == car.read_car(proof).blocks
    assert car.read_car(proof).blocks.items() <= car.read_car(whole).blocks.items()
    assert missing == 400


async def test_records_are_listed_in_pages(repo: ForgedRepo) -> None:
    """Newest key first, as a PDS lists them, until a page is empty."""
    async with ForgedNetwork([repo]) as net:
        seen = []
        cursor: dict[str, str] = {}
        while True:
            _, page = await get(net, "repo.listRecords", repo=repo.did, collection=THING, limit="2", **cursor)
            listed = orjson.loads(page)
            if not listed["records"]:
                break
            seen += [record["value"]["number"] for record in listed["records"]]
            cursor = {"cursor": listed["cursor"]}

    assert seen == [4, 3, 2, 1, 0]


async def test_repos_are_listed_by_collection(repo: ForgedRepo) -> None:
    """Only those that hold a record of it."""
    other = ForgedRepo(seed="other")
    other.create("fm.svc.other", {})
    other.commit_frame(1)
    async with ForgedNetwork([repo, other]) as net:
        _, all_repos = await get(net, "sync.listRepos", limit="10")
        _, holding = await get(net, "sync.listReposByCollection", collection=THING)

    assert {entry["did"] for entry in orjson.loads(all_repos)["repos"]} == {repo.did, other.did}
    assert orjson.loads(holding) == {"repos": [{"did": repo.did}]}


async def test_an_account_that_is_not_active_says_why(repo: ForgedRepo) -> None:
    """The status is told, and the repo refused by its name."""
    async with ForgedNetwork([repo]) as net:
        net.status[repo.did] = "takendown"
        _, status = await get(net, "sync.getRepoStatus", did=repo.did)
        refused, answer = await get(net, "sync.getLatestCommit", did=repo.did)

    assert orjson.loads(status) == {"did": repo.did, "active": False, "status": "takendown"}
    assert (refused, orjson.loads(answer)["error"]) == (400, "RepoTakendown")


async def test_a_method_goes_wrong_as_told(repo: ForgedRepo) -> None:
    """Refused, broken and cut once each, then right; another method for ever."""
    async with ForgedNetwork([repo]) as net:
        net.faults["getRepo"] = iter([Refuse(429, "1"), Corrupt(), Cut(10)])
        net.faults["getRecord"] = itertools.repeat(Refuse(503))
        net.missing.add("getBlocks")

        assert (await get(net, "sync.getRepo", did=repo.did))[0] == 429
        with pytest.raises(car.CarError):
            car.read_car((await get(net, "sync.getRepo", did=repo.did))[1])
        with pytest.raises(aiohttp.ClientPayloadError):
            await get(net, "sync.getRepo", did=repo.did)
        assert await get(net, "sync.getRepo", did=repo.did) == (200, repo.whole_repo())
        for _ in range(3):
            assert (await get(net, "sync.getRecord"))[0] == 503
        assert (await get(net, "sync.getBlocks"))[0] == 501
        assert net.asked == {"getRepo": 4, "getRecord": 3}


def car_cid(block: bytes) -> str:
    text: str = libipld.encode_multibase("b", car.cid_of(block))
    return text
