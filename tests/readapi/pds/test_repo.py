"""A person's own server, asked and told in their name: the reference one."""

import dataclasses
import resource
from pathlib import Path

import pytest
import pytest_asyncio

from readapi.errors import PdsRefused, PdsUnavailable, ScopeUpgradeRequired, SessionExpired, TooLarge
from readapi.pds.refresh import lock_of
from readapi.pds.repo import Create, Delete, Update
from readapi.pds.xrpc import Swapped
from schemas.collections import Collections
from schemas.ids import Cid, Rkey, derived_tid
from tests.network.testnet import running_network
from tests.readapi.desk import desk

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="module")]

LIST = Collections().list
ONE, TWO = Rkey(derived_tid("one")), Rkey(derived_tid("two"))
SOME_CID = Cid("bafyreids2sehsntaax5f3ulh6stic6bpyzjf5lmwb5poeu3awya43ram4e")


def named(name: str) -> dict[str, object]:
    """A list record."""
    return {"$type": LIST, "name": name, "items": [], "createdAt": "2026-01-01T00:00:00Z"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(network, tmp_path_factory):
    async with desk(network, tmp_path_factory.mktemp("desk")) as opened:
        yield opened


async def test_writes_are_applied_together_and_read_back(room):
    """Created, updated, deleted; what is not there is none."""
    author, _ = await room.author()

    made = await room.pds.apply(author, [Create(LIST, ONE, named("1")), Create(LIST, TWO, named("2"))])
    found = await room.pds.get(author, LIST, ONE)
    changed = await room.pds.apply(author, [Update(LIST, ONE, named("one")), Delete(LIST, TWO)])
    left = [record async for record in room.pds.records(author, LIST)]

    assert [str(record.uri) for record in made] == [f"at://{author.did}/{LIST}/{key}" for key in (ONE, TWO)]
    assert (found.cid, found.value) == (made[0].cid, named("1"))
    assert changed[1].cid is None
    assert [(record.cid, record.value) for record in left] == [(changed[0].cid, named("one"))]
    assert await room.pds.get(author, LIST, TWO) is None


async def test_all_records_are_listed_however_many(room):
    """By following the server's pages."""
    author, _ = await room.author()
    keys = [Rkey(derived_tid(str(number))) for number in range(101)]
    await room.pds.apply(author, [Create(LIST, key, named(key)) for key in keys])

    listed = [record async for record in room.pds.records(author, LIST)]

    assert {record.uri.rkey for record in listed} == set(keys)
    assert len(listed) == 101


async def test_what_was_overtaken_is_not_written(room):
    """Neither on another commit, nor in place of another version, nor over a record that is there."""
    author, _ = await room.author()
    head = await room.pds.head(author)
    first = await room.pds.put(author, LIST, ONE, named("1"), swap=None)

    with pytest.raises(Swapped):
        await room.pds.apply(author, [Create(LIST, TWO, named("2"))], swap_commit=head.commit)
    for swap in (None, SOME_CID):
        with pytest.raises(Swapped):
            await room.pds.put(author, LIST, ONE, named("2"), swap=swap)
    newer = await room.pds.head(author)
    await room.pds.apply(author, [Create(LIST, TWO, named("2"))], swap_commit=newer.commit)

    assert (await room.pds.get(author, LIST, ONE)).value == named("1")
    assert (await room.pds.put(author, LIST, ONE, named("3"), swap=first.cid)).value == named("3")


async def test_a_record_can_be_taken_away_twice(room):
    """The second time there is nothing to do."""
    author, _ = await room.author()
    await room.pds.put(author, LIST, ONE, named("1"), swap=None)

    for _ in range(2):
        await room.pds.delete(author, LIST, ONE)

    assert await room.pds.get(author, LIST, ONE) is None


async def test_a_file_is_sent_piece_by_piece(room, tmp_path: Path):
    """64 MiB do not raise the memory of this process by a third of that; bytes are sent as they are."""
    author, _ = await room.author()
    large = tmp_path / "large.wav"
    with large.open("wb") as file:
        file.truncate(64 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    blob = await room.pds.upload(author, large, "audio/wav")
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    small = await room.pds.upload(author, b"hello", "image/png")

    assert (blob["mimeType"], blob["size"]) == ("audio/wav", 64 << 20)
    assert grown_kib < 20 << 10
    assert small["size"] == 5


@pytest.mark.slow
async def test_a_file_over_the_servers_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Before it is sent; what is not asked about beforehand the server itself refuses."""
    monkeypatch.setenv("PDS_BLOB_UPLOAD_LIMIT", "1000")
    fits, large = tmp_path / "fits.wav", tmp_path / "large.wav"
    fits.write_bytes(bytes(1000))
    large.write_bytes(bytes(1001))

    with running_network() as network:
        async with desk(network, tmp_path) as small:
            author, _ = await small.author()
            limit = await small.pds.blob_limit(author)
            sent = await small.pds.upload(author, fits, "audio/wav")
            for content in (large, large.read_bytes()):
                with pytest.raises(TooLarge, match="larger than your server accepts"):
                    await small.pds.upload(author, content, "audio/wav")

    assert (limit, sent["size"]) == (1000, 1000)


async def test_a_token_that_is_not_taken_any_more_is_replaced_once(room):
    """Nobody notices; with a grant that has ended they are told to sign in again."""
    author, _ = await room.author()
    async with room.state.locks.holding(lock_of(author.grant_id)):
        held = await room.state.grants.find(author.grant_id)
        spent = dataclasses.replace(held.grant.tokens, access_token="spent")
        await room.state.grants.replace_tokens(held, spent)

    written = await room.pds.put(author, LIST, ONE, named("1"), swap=None)
    await room.state.grants.end(await room.state.grants.find(author.grant_id), "It is over.")

    assert written.value == named("1")
    with pytest.raises(SessionExpired, match=r"It is over\."):
        await room.pds.put(author, LIST, TWO, named("2"), swap=None)


async def test_what_a_server_refuses_is_told_in_its_words(room):
    """And what was not granted by the code that says so."""
    author, account = await room.author()
    limited, _ = await room.author("atproto repo:fm.svc.like")

    with pytest.raises(PdsRefused) as wrong:
        await room.pds.put(author, LIST, ONE, {**named("x"), "$type": "fm.svc.other"}, swap=None)
    with pytest.raises(ScopeUpgradeRequired):
        await room.pds.put(limited, LIST, ONE, named("x"), swap=None)
    await account.deactivate()
    with pytest.raises(PdsRefused) as away:
        await room.pds.apply(author, [Create(LIST, ONE, named("x"))])

    assert wrong.value.upstream.error == "InvalidRequest"
    assert away.value.upstream.error == "AccountDeactivated"
    assert away.value.message.endswith("Account is deactivated.")


async def test_a_server_that_is_gone_is_unavailable(room):
    """Later it may not be."""
    author, _ = await room.author()

    async with room.net.pds[0].hung_up():
        with pytest.raises(PdsUnavailable):
            await room.pds.put(author, LIST, ONE, named("1"), swap=None)

    assert (await room.pds.put(author, LIST, ONE, named("1"), swap=None)).value == named("1")
