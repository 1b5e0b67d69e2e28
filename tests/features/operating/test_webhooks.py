"""Webhooks: signed deliveries, each change once and in order, whatever is refused, replaced or killed.

Signatures are verified by `standardwebhooks`, the library of those who specified them. WEBHOOK_KILLS sets how
often the delivering process is killed (2).
"""

import asyncio
import contextlib
import html
import multiprocessing
import os
import random
import re
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
import pytest_asyncio
from aiohttp import web
from sqlalchemy import text
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from indexer.catalog.writing.batch import Batch
from readapi.commands.network import open_network
from readapi.live.feed import Feed
from readapi.live.log_reader import LogReader
from readapi.processes.webhooks import deliver_webhooks
from readapi.state.db.tables import webhooks
from readapi.state.state import open_state
from readapi.webhooks import delivery
from readapi.webhooks.deliveries import LOOK_SECONDS
from schemas.backoff import Backoff
from schemas.change_log import Change
from schemas.settings import Settings
from tests.indexer.changes import did, like, put, uri
from tests.indexer.running import until
from tests.patience import PATIENCE_SECONDS
from tests.postgres import new_database
from tests.readapi.audio.listening import Listening, listening

pytestmark = pytest.mark.asyncio(loop_scope="module")

KILLS = int(os.environ.get("WEBHOOK_KILLS", "2"))
children = multiprocessing.get_context("forkserver")
children.set_forkserver_preload([__name__])  # where no other test has begun it: it is imported once then


class Receiver:
    """An address that accepts deliveries, or answers with `status`; `heard` has each accepted one once."""

    def __init__(self) -> None:
        self.status = 204
        self.asked_pause: str | None = None
        self.secret: str | None = None
        self.attempts: list[str] = []
        self.bodies: dict[str, bytes] = {}
        self.address = ""

    async def receive(self, request: web.Request) -> web.Response:
        body, name = await request.read(), request.headers["webhook-id"]
        if self.secret is not None:
            Verifier(self.secret).verify(body, dict(request.headers))
        self.attempts.append(name)
        if self.status == 204:
            self.bodies.setdefault(name, body)
        headers = {} if self.asked_pause is None else {"Retry-After": self.asked_pause}
        return web.Response(status=self.status, headers=headers)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """All changes of deliveries with different ids."""
        return [one for body in self.bodies.values() for one in orjson.loads(body)["data"]["changes"]]

    @property
    def titles(self) -> list[str]:
        return [one["commit"]["record"]["title"] for one in self.changes if "record" in one["commit"]]


@contextlib.asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/hook", receiver.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    receiver.address = f"http://127.0.0.1:{port}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker; each test begins and ends the deliveries."""
    async with listening(tmp_path_factory.mktemp("stage"), allow_loopback=True, webhooks=12) as stage:
        yield stage


@pytest_asyncio.fixture(loop_scope="module")
async def receiver(stage: Listening) -> AsyncIterator[Receiver]:
    """A receiver; what was made for it is gone afterwards."""
    async with receiving() as opened:
        yield opened
    async with stage.state.database.writing() as connection:
        await connection.execute(webhooks.delete())


@contextlib.asynccontextmanager
async def delivering(stage: Listening) -> AsyncIterator[None]:
    """The deliveries, as the job worker runs them."""
    settings = stage.music.settings
    async with open_network(settings) as network, open_state(settings) as state:
        task = asyncio.create_task(deliver_webhooks(settings, state, network))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def by_token(stage: Listening, person: str = "ben") -> dict[str, str]:
    return {"Authorization": f"Bearer {await stage.developer_token(person)}"}


async def ask(stage: Listening, login: dict[str, str], method: str, path: str = "", **sent: Any) -> Any:
    """What the API answers; its status beside refusals."""
    body = orjson.dumps(sent) if sent else None
    headers = {**login, **({"Content-Type": "application/json"} if sent else {})}
    reply = await stage.music.send(method, f"/webhooks{path}", body, **headers)
    return reply.json if reply.status == 200 else (reply.status, reply.json)


async def create(stage: Listening, login: dict[str, str], receiver: Receiver, **wanted: Any) -> str:
    """Create a webhook; its id."""
    made = await ask(stage, login, "POST", url=receiver.address, **wanted)
    receiver.secret = made["secret"]
    return str(made["webhook"]["id"])


async def listed(stage: Listening, login: dict[str, str]) -> dict[str, Any]:
    [only] = (await ask(stage, login, "GET"))["webhooks"]
    return dict(only)


async def becomes(stage: Listening, login: dict[str, str], member: str, value: object) -> dict[str, Any]:
    """The webhook, once the API tells this of it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            shown = await listed(stage, login)
            if shown[member] == value:
                return shown
            await asyncio.sleep(0.02)


async def test_changes_that_are_wanted_are_delivered_signed(stage: Listening, receiver: Receiver) -> None:
    login = await by_token(stage)
    await create(
        stage, login, receiver, wanted_collections=["fm.svc.track"], artists=["mara.example"], cards=True
    )
    async with delivering(stage):
        await stage.music.add(
            put("mara", "track", 100, at=100, title="Wanted"),
            put("ben", "track", 101, at=101, title="Of another artist"),
            like("ben", uri("mara", "track", 100), 102, at=102),
        )
        await stage.music.add(put("mara", "track", 103, at=103, title="Second"))
        await until(lambda: len(receiver.changes) == 2)
        await until(lambda: receiver.titles == ["Wanted", "Second"])
        await becomes(stage, login, "cursor", receiver.changes[-1]["time_us"])

    first = orjson.loads(next(iter(receiver.bodies.values())))
    assert first["type"] == "changes"
    assert first["data"]["changes"][0]["card"]["title"] == "Wanted"
    assert first["data"]["incomplete"] is False
    assert receiver.changes[0]["did"] == did("mara")
    shown = await listed(stage, login)
    assert (shown["state"], shown["artists"]) == ("active", [did("mara")])
    with pytest.raises(WebhookVerificationError):
        Verifier("whsec_" + "A" * 44).verify(
            b"{}", {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AA=="}
        )


@pytest.mark.slow
async def test_refused_deliveries_are_repeated_and_given_up_after_days(
    stage: Listening, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same id and content; then the webhook is paused, says so, and goes on where it was."""
    monkeypatch.setattr(delivery, "BACKOFF", Backoff(0.001, delivery.BACKOFF.longest_seconds))
    login = await by_token(stage)
    receiver.status = 500
    number = await create(stage, login, receiver)
    async with delivering(stage):
        await stage.music.add(put("mara", "track", 110, at=110, title="Refused"))
        await until(lambda: len(receiver.attempts) >= 3)
        shown = await listed(stage, login)
        assert (shown["state"], shown["last_error"]) == ("retrying", "It answered with status 500.")
        monkeypatch.setattr(delivery, "PATIENCE", timedelta(0))
        shown = await becomes(stage, login, "state", "paused")
        assert shown["paused_because"].startswith("Nothing was accepted for")
        assert len(set(receiver.attempts)) == 1
        page = await stage.music.get("/settings", **await stage.as_("ben"), Accept="text/html")
        assert "Nothing was accepted for" in page.json

        receiver.status = 204
        await stage.music.add(put("mara", "track", 111, at=111, title="Later"))
        assert (await ask(stage, login, "POST", f"/{number}/resume"))["state"] == "active"
        await until(lambda: receiver.titles == ["Refused", "Later"])
        assert set(receiver.attempts[:3]) <= receiver.bodies.keys()

        receiver.status = 410
        await stage.music.add(put("mara", "track", 112, at=112, title="Unwanted"))
        shown = await becomes(stage, login, "state", "paused")
        assert "410" in shown["paused_because"]


async def test_a_receiver_may_ask_for_a_pause(stage: Listening, receiver: Receiver) -> None:
    login = await by_token(stage)
    receiver.status, receiver.asked_pause = 503, "3600"
    await create(stage, login, receiver)
    async with delivering(stage):
        await stage.music.add(put("mara", "track", 115, at=115))
        shown = await becomes(stage, login, "state", "retrying")
    noted = await stage.state.webhooks.find(shown["id"])
    assert noted is not None
    assert noted.next_attempt_at is not None
    assert noted.next_attempt_at - stage.state.database.now() > timedelta(minutes=50)


@pytest.mark.slow
async def test_deliveries_go_on_after_an_error_of_the_feed(
    stage: Listening, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log could not be read once."""
    login = await by_token(stage)
    await create(stage, login, receiver)
    read, errors = Feed._read, [OSError("it cannot be read")]

    def read_after_an_error(feed: Feed, reader: LogReader) -> list[Change]:
        if errors:
            raise errors.pop()
        return read(feed, reader)

    monkeypatch.setattr(Feed, "_read", read_after_an_error)
    async with delivering(stage):
        await until(lambda: not errors)
        await stage.music.add(put("mara", "track", 117, at=117, title="After the error"))
        await until(lambda: receiver.titles == ["After the error"])


async def test_a_replaced_secret_signs_beside_the_new_one(stage: Listening, receiver: Receiver) -> None:
    login = await by_token(stage)
    number = await create(stage, login, receiver)
    first = receiver.secret
    second = (await ask(stage, login, "POST", f"/{number}/rotate"))["secret"]
    async with delivering(stage):
        await stage.music.add(put("mara", "track", 120, at=120, title="By the first"))
        await until(lambda: receiver.titles == ["By the first"])
        receiver.secret = second
        await stage.music.add(put("mara", "track", 121, at=121, title="By the second"))
        await until(lambda: len(receiver.titles) == 2)
    assert first != second
    async with stage.state.database.reading() as connection:
        stored = repr((await connection.execute(webhooks.select())).mappings().all())
    for secret in (first, second):
        assert secret is not None
        assert secret.removeprefix("whsec_") not in stored


async def test_what_cannot_be_reached_safely_or_has_no_room_is_refused(
    stage: Listening, receiver: Receiver
) -> None:
    """Unsafe addresses, unknown names, others' tokens and webhooks, more than five of a token."""
    login, other = await by_token(stage), await by_token(stage, "ida")
    for url in (
        "http://example.com/",
        "https://10.0.0.1/",
        "https://user@example.com/",
        "ftp://x",
        "https://x:22/",
    ):
        status, refused = await ask(stage, login, "POST", url=url)
        assert (status, refused["errors"][0]["field"]) == (422, "url")
    for wrong in (
        {"wanted_dids": ["mara"]},
        {"wanted_collections": ["x"]},
        {"cursor": 2**62},
        {"token_id": "1"},
    ):
        assert (await ask(stage, login, "POST", url=receiver.address, **wrong))[0] == 422
    assert (await ask(stage, await stage.as_("ben"), "POST", url=receiver.address))[0] == 422
    assert (await ask(stage, {}, "GET"))[0] == 401

    numbers = [await create(stage, login, receiver) for _ in range(5)]
    assert (await ask(stage, login, "POST", url=receiver.address))[0] == 409
    for method, path in (("DELETE", ""), ("POST", "/rotate"), ("POST", "/resume")):
        assert (await ask(stage, other, method, f"/{numbers[0]}{path}"))[0] == 404
    assert (await ask(stage, other, "GET"))["webhooks"] == []
    assert len((await ask(stage, await stage.as_("ben"), "GET"))["webhooks"]) == 5
    assert (await ask(stage, login, "DELETE", f"/{numbers[0]}"))[0] == 204
    assert len((await ask(stage, login, "GET"))["webhooks"]) == 4
    more = [await create(stage, await by_token(stage), receiver) for _ in range(8)]
    assert len(more) == 8
    assert (await ask(stage, await by_token(stage), "POST", url=receiver.address))[0] == 409


async def send_form(
    stage: Listening, login: dict[str, str], path: str, sent: str = "", **headers: str
) -> Any:
    """What the settings page answers to a form."""
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    return await stage.music.send(
        "POST", f"/settings/webhooks{path}", sent.encode(), **login, **kind | headers
    )


MANY = " ".join(f"t{n}" for n in range(101))


@pytest.mark.parametrize(
    ("field", "typed", "status", "error"),
    [
        ("url", "ftp://example.com", 422, "This address cannot be used"),
        ("url", "", 422, "must have 1 letters or more"),
        ("token_id", "unknown", 422, "You have no such valid developer token."),
        ("artists", MANY, 422, "must not hold more than 100 items"),
        ("artists", "nobody.example", 404, "There is no artist nobody.example."),
        ("tags", MANY, 422, "must not hold more than 100 items"),
    ],
)
async def test_a_refused_form_of_a_webhook_is_shown_as_it_was_typed(
    stage: Listening, receiver: Receiver, field: str, typed: str, status: int, error: str
) -> None:
    """Open, with the error at its field, and the choices that were made. A program gets the error itself."""
    for _ in range(2):
        await by_token(stage)
    login = await stage.as_("ben")
    [_, token, *_] = await stage.state.developer_tokens.of(did("ben"))
    good = {"url": receiver.address, "token_id": token.id, "artists": "mara.example", "tags": "dub, ambient"}
    form = [*(good | {field: typed, "cards": "true"}).items(), ("wanted_collections", "fm.svc.like")]
    form.append(("wanted_collections", "fm.svc.track"))

    answer = await send_form(stage, login, "", urlencode(form))
    told = await send_form(stage, login, "", urlencode(form), Accept="application/json")

    page = answer.json
    assert (answer.status, told.status) == (status, status)
    assert told.json["detail"] == ("not_found" if status == 404 else "invalid_request")
    assert page.count('<details class="more" open>') == 1
    assert '<p class="note bad" role="alert"' in page
    [shown] = re.findall(rf'<p class="error" id="webhook-{field}-error">([^<]+)</p>', page)
    assert error in html.unescape(shown)
    for name in ("url", "artists", "tags"):
        assert f'id="webhook-{name}" name="{name}"' in page
        assert f'value="{typed if name == field else good[name]}"' in page
    assert (f'<option value="{token.id}" selected>' in page) == (field != "token_id")
    assert re.findall(r'value="([\w.]+)" checked', page) == ["fm.svc.track", "fm.svc.like", "true"]
    assert await stage.state.webhooks.of(did("ben")) == []


async def test_the_form_of_one_webhook_too_many_is_shown_as_it_was_typed(
    stage: Listening, receiver: Receiver
) -> None:
    """With the reason above it."""
    login, session = await by_token(stage), await stage.as_("ben")
    for _ in range(5):
        await create(stage, login, receiver)
    [token_id] = {one.token_id for one in await stage.state.webhooks.of(did("ben"))}
    form = {"url": f"{receiver.address}?more", "token_id": token_id}

    refused = await send_form(stage, session, "", urlencode(form))

    [told] = re.findall(r'<p class="note bad" role="alert"[^>]*>([^<]+)</p>', refused.json)
    assert (refused.status, told) == (409, "A developer token has at most 5 webhooks.")
    assert f'value="{form["url"]}"' in refused.json
    assert '<details class="more" open>' in refused.json


async def test_the_settings_page_makes_replaces_resumes_and_deletes(
    stage: Listening, receiver: Receiver
) -> None:
    """By its forms, in a session; the secret is on the page that follows, once."""
    await by_token(stage)
    login = await stage.as_("ben")
    [token, *_] = await stage.state.developer_tokens.of(did("ben"))
    form = {
        "url": receiver.address,
        "token_id": token.id,
        "artists": "mara.example, ben.example",
        "cards": "true",
    }

    async def post(path: str, sent: str = "") -> Any:
        return await send_form(stage, login, path, sent)

    made = await post("", urlencode([*form.items(), ("wanted_collections", "fm.svc.like")]))
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/=]+", html.unescape(made.json))
    [webhook] = await stage.state.webhooks.of(did("ben"))
    assert await stage.state.webhooks.secrets(webhook.id) == [secret]
    shown = (await ask(stage, login, "GET"))["webhooks"][0]
    assert (shown["wanted_collections"], shown["cards"]) == (["fm.svc.like"], True)
    assert set(shown["artists"]) == {did("mara"), did("ben")}
    page = (await stage.music.get("/settings", **login, Accept="text/html")).json
    assert receiver.address in page
    assert "whsec_" not in page

    assert "whsec_" in (await post(f"/{webhook.id}/rotate")).json
    assert secret in await stage.state.webhooks.secrets(webhook.id)
    await stage.state.webhooks.fail(webhook, "No.", timedelta(0), "Given up.")
    assert "Given up." in (await stage.music.get("/settings", **login, Accept="text/html")).json
    for deed, notice in (("resume", "goes on from where it was"), ("delete", "was deleted")):
        assert notice in (await post(f"/{webhook.id}/{deed}")).json
    assert await stage.state.webhooks.of(did("ben")) == []


def deliver(settings: Settings) -> None:
    """What the job worker does, until it is killed."""

    async def run() -> None:
        async with open_network(settings) as network, open_state(settings) as state:
            await deliver_webhooks(settings, state, network)

    asyncio.run(run())


@pytest.mark.slow
async def test_one_process_delivers_after_locks_were_lost(
    postgres: str, receiver: Receiver, tmp_path: Path
) -> None:
    """The connection that held the lock ends: another process takes over, and the one before stops."""
    state_url = await new_database(postgres, uuid.uuid4().hex)
    async with listening(tmp_path, webhooks=1, state_url=state_url) as stage:
        await create(stage, await by_token(stage), receiver)
        async with delivering(stage), delivering(stage):
            await stage.music.add(put("mara", "track", 130, at=130, title="Before"))
            await until(lambda: receiver.titles == ["Before"])
            async with stage.state.database.writing() as connection:
                locks = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"
                await connection.execute(text(locks))
            await asyncio.sleep(3 * LOOK_SECONDS)
            await stage.music.add(put("mara", "track", 131, at=131, title="After"))
            await until(lambda: receiver.titles == ["Before", "After"])
            await asyncio.sleep(LOOK_SECONDS)

    assert len(receiver.attempts) == 2


@pytest.mark.slow
async def test_a_killed_process_loses_nothing_and_repeats_by_id(stage: Listening, receiver: Receiver) -> None:
    """Whoever leaves out ids that it has seen has each change once, in order."""
    dice = random.Random(3)
    login = await by_token(stage)
    await create(stage, login, receiver, wanted_collections=["fm.svc.track"])
    number = 1000
    for _ in range(KILLS):
        child = children.Process(target=deliver, args=(stage.music.settings,))
        child.start()
        heard, most = len(receiver.attempts), dice.randint(2, 15)
        while len(receiver.attempts) < heard + most:
            tracks = [put("mara", "track", n, at=n, title=str(n)) for n in range(number, number + 5)]
            stage.music._writer.write(Batch(changes=tracks))
            number += 5
            await asyncio.sleep(0.02)
        child.kill()  # in the middle of whatever it does
        child.join()
    async with delivering(stage):
        await until(lambda: len(receiver.titles) >= number - 1000)
    assert receiver.titles == [str(n) for n in range(1000, number)]
