"""Whatever a person's own server answers, it is believed in what was asked, and waited for within bounds."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import libipld
import pytest
from aiohttp import web

from readapi.errors import PdsRefused, PdsUnavailable, TooLarge
from readapi.pds.repo import MOST_PAGES, Create, Delete, Pds, Value
from schemas.collections import Collections
from schemas.ids import Rkey
from tests.network import hostile
from tests.network.doubles import ALICE
from tests.network.scripted_pds import ScriptedPds
from tests.readapi.scripted_pds import HEAD, Writer, scripted_pds

LIST, KEY = Collections().list, Rkey("3kaaaaaaaaa22")
URI, CID = f"at://{ALICE}/{LIST}/{KEY}", HEAD["cid"]
SONG = b"song"
MARA = Writer()


def record(**changes: object) -> Value:
    return {"uri": URI, "cid": CID, "value": {"name": "One"}} | changes


def blob(**changes: object) -> Value:
    cid = libipld.encode_cid(b"\x01\x55\x12\x20" + hashlib.sha256(SONG).digest())
    told = {"$type": "blob", "ref": {"$link": cid}, "mimeType": "audio/x-flac", "size": len(SONG)}
    return {"blob": told | changes}


@pytest.fixture
async def scripted() -> AsyncIterator[tuple[ScriptedPds, Pds]]:
    async with scripted_pds() as (server, pds):
        server.answers |= {
            "com.atproto.repo.getRecord": record(),
            "com.atproto.repo.listRecords": {"records": [record()]},
            "com.atproto.repo.uploadBlob": blob(),
            "com.atproto.repo.putRecord": {"uri": URI, "cid": CID},
            "com.atproto.repo.applyWrites": {"results": [{"cid": CID}, {}]},
        }
        yield server, pds


async def ask(pds: Pds, method: str) -> object:
    """The call that leads to a method."""
    match method.rpartition(".")[2]:
        case "getRecord":
            return await pds.get(MARA, LIST, KEY)
        case "listRecords":
            return [found async for found in pds.records(MARA, LIST)]
        case "uploadBlob":
            return await pds.upload(MARA, SONG, "audio/flac")
        case "putRecord":
            return await pds.put(MARA, LIST, KEY, {}, swap=None)
        case "applyWrites":
            return await pds.apply(MARA, [Create(LIST, KEY, {}), Delete(LIST, KEY)])
        case _:
            return await pds.head(MARA)


ANSWERS = [
    ("repo.getRecord", record(uri=f"at://did:plc:zzzzzzzzzzzzzzzzzzzzzzzz/{LIST}/{KEY}")),
    ("repo.getRecord", record(uri=f"at://{ALICE}/{LIST}/other")),
    ("repo.getRecord", record(uri=f"at://{ALICE}/fm.svc.track/{KEY}")),
    ("repo.getRecord", record(uri=7)),
    ("repo.getRecord", record(cid="x" * 59)),
    ("repo.getRecord", record(cid=None)),
    ("repo.getRecord", record(value=[])),
    ("repo.getRecord", []),
    ("repo.listRecords", {}),
    ("repo.listRecords", {"records": {"0": record()}}),
    ("repo.listRecords", {"records": [record()] * 101}),
    ("repo.listRecords", {"records": [record(), None]}),
    ("repo.listRecords", {"records": [record(uri=f"at://{ALICE}/fm.svc.track/{KEY}")]}),
    ("repo.listRecords", {"records": [record()], "cursor": "c" * 1001}),
    ("repo.listRecords", {"records": [record()], "cursor": 7}),
    ("repo.putRecord", {}),
    ("repo.putRecord", {"cid": "bafy"}),
    ("repo.applyWrites", {"results": [{"cid": CID}]}),
    ("repo.applyWrites", {"results": [{}, {}]}),
    ("repo.applyWrites", {"results": [None, None]}),
    ("sync.getLatestCommit", HEAD | {"cid": None}),
    ("sync.getLatestCommit", HEAD | {"rev": "yesterday"}),
    ("repo.uploadBlob", {}),
    ("repo.uploadBlob", {"blob": "song"}),
    ("repo.uploadBlob", blob(ref={})),
    ("repo.uploadBlob", blob(ref={"$link": CID})),
    ("repo.uploadBlob", blob(size=5)),
    ("repo.uploadBlob", blob(size="4")),
    ("repo.uploadBlob", blob(mimeType=None)),
    ("repo.uploadBlob", blob(mimeType="audio/" + "x" * 1000)),
    ("repo.uploadBlob", blob(mimeType="audio/flac\n")),
]


@pytest.mark.parametrize(("method", "said"), ANSWERS)
async def test_an_answer_to_something_else_makes_no_sense(
    scripted: tuple[ScriptedPds, Pds], method: str, said: object
) -> None:
    """Another record, another file, another shape: as if the server could not be asked."""
    server, pds = scripted
    await ask(pds, method)
    server.answers[f"com.atproto.{method}"] = said

    with pytest.raises(PdsUnavailable):
        await ask(pds, method)


NONSENSE = (hostile.page, hostile.endless, hostile.broken, hostile.hang_up)


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda nonsense: nonsense.__name__)
async def test_no_sense_is_made_of_nonsense(
    scripted: tuple[ScriptedPds, Pds], nonsense: hostile.Answering
) -> None:
    """Pages, floods and silence; neither is there an end to wait for."""
    server, pds = scripted
    server.answers["com.atproto.repo.uploadBlob"] = nonsense

    with pytest.raises(PdsUnavailable):
        await ask(pds, "repo.uploadBlob")


async def test_a_redirect_is_not_followed(scripted: tuple[ScriptedPds, Pds]) -> None:
    """Tokens are for this server."""
    server, pds = scripted
    server.answers["com.atproto.repo.getRecord"] = hostile.redirect

    with pytest.raises(PdsRefused, match="302"):
        await ask(pds, "repo.getRecord")


async def test_a_file_of_another_kind_is_told_of(scripted: tuple[ScriptedPds, Pds]) -> None:
    """A record must call it what the server calls it, and tracks have audio."""
    server, pds = scripted
    server.answers["com.atproto.repo.uploadBlob"] = blob(mimeType="text/html")

    with pytest.raises(PdsRefused, match="text/html, which is no audio"):
        await ask(pds, "repo.uploadBlob")


async def test_a_list_without_an_end_is_given_up(
    scripted: tuple[ScriptedPds, Pds],
) -> None:
    """After so many pages, however quickly they come."""
    server, pds = scripted
    server.answers["com.atproto.repo.listRecords"] = {"records": [record()], "cursor": "again"}

    with pytest.raises(PdsRefused, match="more records than this service can read"):
        await ask(pds, "repo.listRecords")

    assert server.asked.count("com.atproto.repo.listRecords") == MOST_PAGES


@pytest.mark.parametrize("limit", [None, True, "3", 3.0])
async def test_a_file_over_a_limit_that_is_not_told_is_refused_by_the_server(
    scripted: tuple[ScriptedPds, Pds], tmp_path: Path, limit: object
) -> None:
    """It alone knows; it is told like any other."""
    server, pds = scripted
    server.answers["com.atproto.server.describeServer"] = {"blobUploadLimit": limit}

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.json_response({"error": "BlobTooLarge"}, status=400)

    server.answers["com.atproto.repo.uploadBlob"] = refuse
    song = tmp_path / "song"
    song.write_bytes(SONG)

    with pytest.raises(TooLarge, match="your server"):
        await pds.upload(MARA, song, "audio/flac")


async def test_a_file_over_a_limit_that_is_told_is_not_sent(
    scripted: tuple[ScriptedPds, Pds], tmp_path: Path
) -> None:
    """Who does not tell any of itself is asked all the same."""
    server, pds = scripted
    song = tmp_path / "song"
    song.write_bytes(SONG)
    server.answers["com.atproto.server.describeServer"] = hostile.refusing("MethodNotImplemented", 501)
    await pds.upload(MARA, song, "audio/flac")
    server.answers["com.atproto.server.describeServer"] = {"blobUploadLimit": len(SONG) - 1}

    with pytest.raises(TooLarge, match="your server"):
        await pds.upload(MARA, song, "audio/flac")

    assert server.asked.count("com.atproto.repo.uploadBlob") == 1
