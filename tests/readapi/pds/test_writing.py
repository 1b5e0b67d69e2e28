"""Writing for somebody: held to the lexicon, and never over what others wrote meanwhile."""

import pytest
import pytest_asyncio
import requests

from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.pds.repo import Create
from readapi.pds.writing import ATTEMPTS
from schemas.collections import Collections
from schemas.ids import AtUri, Rkey, derived_tid
from tests.network.pds import Account, Json
from tests.readapi.desk import desk

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="module")]

LIST = Collections().list
KEY = Rkey(derived_tid("list"))
LISTED = {"$type": LIST, "name": "One", "items": [], "createdAt": "2026-01-01T00:00:00Z", "mood": "blue"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def room(network, tmp_path_factory):
    async with desk(network, tmp_path_factory.mktemp("desk")) as opened:
        yield opened


def write_elsewhere(account: Account, value: Json) -> None:
    """Another program of theirs writes the record at this very moment."""
    body = {"repo": account.did, "collection": LIST, "rkey": KEY, "record": value}
    url = f"{account.pds.url}/xrpc/com.atproto.repo.putRecord"
    requests.post(url, json=body, headers=dict(account.login), timeout=10).raise_for_status()


async def test_an_edit_keeps_what_another_program_writes_meanwhile(room):
    """It is made again on the newer version; unknown fields stay."""
    author, account = await room.author()
    await account.put_record(LIST, KEY, LISTED)
    seen = []

    def rename(found: Json) -> Json:
        if not seen:
            write_elsewhere(account, {**LISTED, "description": "theirs"})
        seen.append(found)
        return {**found, "name": "Two"}

    written = await room.writing.edit(author, LIST, KEY, rename)
    held = await room.pds.get(author, LIST, KEY)

    assert seen == [LISTED, {**LISTED, "description": "theirs"}]
    assert held.value == written.value == {**LISTED, "name": "Two", "description": "theirs"}


async def test_an_edit_that_is_always_overtaken_is_given_up(room):
    """The others' version stays."""
    author, account = await room.author()
    await account.put_record(LIST, KEY, LISTED)
    numbers = []

    def rename(found: Json) -> Json:
        numbers.append(len(numbers))
        write_elsewhere(account, {**LISTED, "name": f"theirs {numbers[-1]}"})
        return {**found, "name": "ours"}

    with pytest.raises(Conflict):
        await room.writing.edit(author, LIST, KEY, rename)

    assert len(numbers) == ATTEMPTS
    assert (await room.pds.get(author, LIST, KEY)).value["name"] == f"theirs {ATTEMPTS - 1}"


async def test_an_edit_begins_with_what_is_there_or_with_what_is_given(room):
    """Without either there is nothing to edit."""
    author, _ = await room.author()

    with pytest.raises(NotFound):
        await room.writing.edit(author, LIST, KEY, lambda found: found)
    made = await room.writing.edit(author, LIST, KEY, lambda found: found, absent=LISTED)
    again = await room.writing.edit(author, LIST, KEY, lambda found: found, absent={})

    assert made.value == again.value == LISTED
    assert made.cid == again.cid


async def test_whether_what_was_written_is_shown_is_told(room):
    """Here nothing is: whoever made a record say less must know."""
    author, account = await room.author()
    await account.put_record(LIST, KEY, LISTED)

    assert await room.writing.seen(AtUri(author.did, LIST, KEY)) is False


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "x" * 257}, "name"),
        ({"createdAt": "yesterday"}, "createdAt"),
        ({"items": [{"subject": {"uri": "x", "cid": "y"}}]}, "items[0].subject.uri"),
    ],
)
async def test_what_breaks_its_lexicon_is_not_sent(room, fields, field):
    """The field is named; in a commit of two neither is written."""
    author, _ = await room.author()
    good, bad = Create(LIST, KEY, LISTED), Create(LIST, Rkey(derived_tid("bad")), {**LISTED, **fields})

    with pytest.raises(InvalidRequest) as refused:
        await room.writing.commit(author, good, bad)

    assert refused.value.errors[0].field == field
    assert await room.pds.get(author, LIST, KEY) is None
