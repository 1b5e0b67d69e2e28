"""Nudges between machines: signed, fresh, and answered by who has the key."""

import time

import aiohttp
import orjson
import pytest
from aiohttp import web

from indexer.control.nudge import Nudged
from indexer.control.prove import NotProven
from indexer.replication import signed_nudges
from indexer.replication.follow.remote_nudges import RemoteNudges
from indexer.replication.manifest import Manifest
from indexer.replication.publish.nudge_server import listening
from schemas import control_socket
from schemas.ids import AtUri, Cid, Tid
from tests.indexer.changes import uri
from tests.network.server import free_port

KEY = "a" * 32
WROTE = uri("ada", "track")
SHOWN = Nudged(Tid("3kznmn7xqxl22"), Cid("bafyreiclp443lavogvhj3d2ob2cxbfuscni2k5jk7bebjzg7khl3esabwq"), 7)


async def show(asked: AtUri) -> Nudged:
    """An indexer that has one record."""
    if asked != WROTE:
        raise NotProven("There is no such record.", missing=True)
    return SHOWN


def manifest(url: str | None, node: str = "a") -> Manifest:
    """Of an indexer that takes nudges there."""
    return Manifest(node=node, epoch=1, number=1, at=0.0, report={}, nudges=url)


async def test_a_nudge_reaches_the_indexer_and_its_answer_comes_back() -> None:
    """Also a refusal, with its sentence."""
    url = f"http://127.0.0.1:{free_port()}"
    async with listening(url, KEY, show), aiohttp.ClientSession() as session:
        nudges = RemoteNudges(session, KEY, lambda: manifest(url))

        assert await nudges.nudge(WROTE) == SHOWN
        with pytest.raises(NotProven, match="There is no such record") as refused:
            await nudges.nudge(uri("ben", "track"))
        assert refused.value.missing


@pytest.mark.parametrize("fault", ["no signature", "other key", "other body", "old", "no time"])
async def test_a_request_that_is_not_signed_is_refused(fault: str) -> None:
    """The record's server is not asked."""
    url, now = f"http://127.0.0.1:{free_port()}", int(time.time())
    body = control_socket.encode_uri(WROTE)
    sent_at = now - 61 if fault == "old" else now
    key = "b" * 32 if fault == "other key" else KEY
    signed = control_socket.encode_uri(uri("ben", "track")) if fault == "other body" else body
    headers = {
        signed_nudges.TIME_HEADER: "" if fault == "no time" else str(sent_at),
        signed_nudges.SIGNATURE_HEADER: signed_nudges.sign_request(key, sent_at, signed),
    }
    if fault == "no signature":
        del headers[signed_nudges.SIGNATURE_HEADER]

    async def fail(_: AtUri) -> Nudged:
        raise AssertionError("asked")

    async with (
        listening(url, KEY, fail),
        aiohttp.ClientSession() as session,
        session.post(url + signed_nudges.PATH, data=body, headers=headers) as answer,
    ):
        assert answer.status == 403


async def test_an_answer_that_is_not_signed_is_not_believed(aiohttp_server) -> None:
    """Whoever answers in the indexer's place says nothing about what is shown."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps({"rev": SHOWN.rev, "op": 0, "cid": None}))

    app = web.Application()
    app.router.add_post(signed_nudges.PATH, answer)
    server = await aiohttp_server(app)
    url = str(server.make_url("")).rstrip("/")

    async with aiohttp.ClientSession() as session:
        with pytest.raises(NotProven, match="not signed with FMSVC_CLUSTER_KEY"):
            await RemoteNudges(session, KEY, lambda: manifest(url)).nudge(WROTE)


async def test_a_nudge_that_cannot_be_passed_on_is_refused_with_a_sentence() -> None:
    """Without an address, without a key, without an answer, and when another indexer is shown meanwhile."""
    url = f"http://127.0.0.1:{free_port()}"
    async with listening(url, KEY, show), aiohttp.ClientSession() as session:
        for shown, key in ((None, KEY), (manifest(None), KEY), (manifest(url), None)):
            with pytest.raises(NotProven, match="takes no nudges"):
                await RemoteNudges(session, key, lambda shown=shown: shown).nudge(WROTE)
        with pytest.raises(NotProven, match="does not answer"):
            await RemoteNudges(session, KEY, lambda: manifest("http://127.0.0.1:9")).nudge(WROTE)
        changing = iter([manifest(url), manifest(url, node="b")])
        with pytest.raises(NotProven, match="took over"):
            await RemoteNudges(session, KEY, lambda: next(changing)).nudge(WROTE)
