"""A DID becomes a handle that holds both ways, a server and a key, whatever the directory answers."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from indexer.events import IdentityFact
from indexer.network.http.client import NotNow, Outbound, OutboundError
from indexer.network.identity.dns import Dns
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from schemas.ids import INVALID_HANDLE, Did, Handle
from tests.network.doubles import ALICE, HANDLE, HOSTED, KEY, Names, NameServer, Pages, document, service

MALLORY = Did("did:plc:mallorymallorymallory222")


@dataclass
class World:
    """A directory, a name server and the host of HANDLE, with a resolver looking at them."""

    directory: Pages
    names: NameServer
    resolver: Resolver
    at: list[str | None] = field(default_factory=lambda: [None])
    now: float = 0.0

    def publish(self, body: bytes, status: int = 200, did: str = ALICE) -> None:
        self.directory.answers[f"/{did}"] = (status, body)


@pytest.fixture
async def world(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> AsyncIterator[World]:
    at: list[str | None] = [None]

    async def well_known(_: web.Request) -> web.Response:
        return web.Response(text=at[0]) if at[0] is not None else web.Response(status=404)

    app = web.Application()
    app.router.add_get("/.well-known/atproto-did", well_known)
    host = TestServer(app, host="127.0.0.1")
    async with contextlib.AsyncExitStack() as stack:
        await host.start_server(ssl=tls[0])
        stack.push_async_callback(host.close)
        directory = await stack.enter_async_context(Pages())
        names = await stack.enter_async_context(NameServer())
        known = Names({HANDLE: ("127.0.0.1", host.port or 0), "localhost": ("127.0.0.1", directory.port)})
        outbound = await stack.enter_async_context(Outbound(known, allow_loopback=True, tls=tls[1]))
        world = World(directory, names, resolver=None, at=at)  # type: ignore[arg-type]
        world.resolver = Resolver(
            outbound,
            Handles(outbound, Dns(names.asked()), allow_test=True),
            plc_url=directory.url,
            allow_loopback=True,
            clock=lambda: world.now,
        )
        yield world


async def test_a_handle_that_dns_confirms_is_shown(world: World) -> None:
    world.publish(document())
    world.names.texts[f"_atproto.{HANDLE}"] = [f"did={ALICE}"]

    facts = IdentityFact(ALICE, Handle(HANDLE), HOSTED, KEY, space_host=HOSTED, space_key=KEY)
    assert await world.resolver.resolve(ALICE) == facts


async def test_a_handle_that_its_host_confirms_is_shown(world: World) -> None:
    world.publish(document())
    world.at[0] = f"{ALICE}\n"

    assert (await world.resolver.resolve(ALICE)).handle == HANDLE


async def test_a_handle_that_names_somebody_else_is_invalid(world: World) -> None:
    """Whoever claims another's handle in a DID document gains nothing."""
    world.publish(document(MALLORY), did=MALLORY)
    world.names.texts[f"_atproto.{HANDLE}"] = [f"did={ALICE}"]

    facts = await world.resolver.resolve(MALLORY)

    assert (facts.handle, facts.pds) == ("handle.invalid", HOSTED)


async def test_a_handle_that_nobody_confirms_is_invalid(world: World) -> None:
    world.publish(document())

    assert (await world.resolver.resolve(ALICE)).handle == "handle.invalid"


async def test_two_different_txt_records_cancel_each_other_out(world: World) -> None:
    world.publish(document())
    world.names.texts[f"_atproto.{HANDLE}"] = [f"did={ALICE}", f"did={MALLORY}"]

    assert (await world.resolver.resolve(ALICE)).handle == "handle.invalid"


async def test_silent_dns_leaves_the_handle_open(world: World) -> None:
    """Not being able to ask says nothing about the handle; the rest of the document counts."""
    world.publish(document())
    world.names.failing = True

    facts = await world.resolver.resolve(ALICE)

    assert (facts.handle, facts.pds) == (None, HOSTED)


async def test_silent_dns_does_not_matter_when_the_host_confirms(world: World) -> None:
    world.publish(document())
    world.names.failing = True
    world.at[0] = ALICE

    assert (await world.resolver.resolve(ALICE)).handle == HANDLE


@pytest.mark.parametrize("claimed", ["handle.invalid", "alice.localhost", "alice.internal", "alice.onion"])
async def test_reserved_names_are_invalid_unasked(world: World, claimed: str) -> None:
    world.publish(document(alsoKnownAs=[f"at://{claimed}"]))
    world.names.texts[f"_atproto.{claimed}"] = [f"did={ALICE}"]

    assert (await world.resolver.resolve(ALICE)).handle == "handle.invalid"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"{}"),
        (410, b"tombstone"),
        (200, b""),
        (200, b"[]"),
        (200, b"null"),
        (200, b'{"id": 7}'),
        (200, b"[" * 50_000),
        (200, b"\xff\xfe"),
        (200, b'{"id": "' + b"x" * 70_000),
        (200, document(MALLORY)),
        (302, b""),
    ],
)
async def test_a_did_without_a_usable_document_does_not_exist(world: World, status: int, body: bytes) -> None:
    """Absent, tombstoned, oversized, another's or no JSON: no handle, no server, no exception."""
    world.publish(body, status)

    assert await world.resolver.resolve(ALICE) == IdentityFact(ALICE, Handle("handle.invalid"), None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"alsoKnownAs": 7, "service": "x", "verificationMethod": {"id": "#atproto"}},
        {"alsoKnownAs": [None, 7, ["at://x"]], "service": [None, []], "verificationMethod": [[]]},
        {"alsoKnownAs": ["at://not a handle"], "service": service(7), "verificationMethod": None},
        {"alsoKnownAs": ["https://x"], "service": service({}), "verificationMethod": [{"id": "#atproto"}]},
        {"alsoKnownAs": ["at://" + "a." * 200], "service": service(None), "verificationMethod": []},
    ],
)
async def test_wrong_parts_of_a_document_count_as_absent(world: World, changes: dict[str, object]) -> None:
    world.publish(document(**changes))

    assert await world.resolver.resolve(ALICE) == IdentityFact(ALICE, Handle("handle.invalid"), None, None)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://pds.example.com",
        "https://user:pass@pds.example.com",
        "https://pds.example.com/path",
        "https://pds.example.com?query",
        "https://10.0.0.1",
        "https://[::ffff:10.0.0.1]",
        "https://intranet",
        "https://pds.example.com:25",
        "javascript:alert(1)",
        "https://" + "a" * 600 + ".com",
        "",
    ],
)
async def test_a_server_at_an_improper_address_is_no_server(world: World, endpoint: str) -> None:
    """What passes here ends in links that browsers follow."""
    world.publish(document(service=service(endpoint)))

    assert (await world.resolver.resolve(ALICE)).pds is None


async def test_a_servers_trailing_slash_is_dropped(world: World) -> None:
    world.publish(document(service=service("https://pds.example.com:8443/")))

    assert (await world.resolver.resolve(ALICE)).pds == "https://pds.example.com:8443"


async def test_a_web_did_is_read_at_its_host(world: World) -> None:
    """did:web names a host; a port is for localhost in tests only."""
    did = Did(f"did:web:localhost%3A{world.directory.port}")
    world.directory.answers["/.well-known/did.json"] = (200, document(did, alsoKnownAs=[]))

    assert (await world.resolver.resolve(did)).pds == HOSTED


@pytest.mark.parametrize(
    "did",
    ["did:web:example.com:user", "did:web:example.com%3A8443", "did:web:10.0.0.1", "did:web:a%2Fb.com",
     "did:key:zQ3sh", "did:plc:short", "did:web:localhost"],
)  # fmt: skip
async def test_other_forms_of_did_do_not_exist(did: str) -> None:
    async with Outbound(Dns()) as outbound:
        resolver = Resolver(outbound, Handles(outbound, Dns()), plc_url="https://plc.example.com")

        assert (await resolver.resolve(Did(did))).pds is None


async def test_a_directory_that_is_down_is_told_from_a_did_that_does_not_exist(world: World) -> None:
    world.publish(b"", 503)

    with pytest.raises(OutboundError) as failed:
        await world.resolver.resolve(ALICE)

    assert failed.value.transient


async def test_a_directory_without_an_address_says_nothing_of_anybody() -> None:
    """A mistake in DNS must not end everybody's handle; a did:web ends with its host."""
    async with Outbound(Names({})) as outbound:
        resolver = Resolver(outbound, Handles(outbound, Dns()), plc_url="https://plc.example.com")

        with pytest.raises(OutboundError) as failed:
            await resolver.resolve(ALICE)
        assert (await resolver.resolve(Did("did:web:gone.example.com"))).pds is None

    assert failed.value.transient


async def test_a_failure_is_remembered_for_longer_each_time_up_to_a_minute(world: World) -> None:
    """One hiccup of the directory costs a second; one that is down is not asked by every event."""
    world.publish(b"", 503)
    asked = []
    for world.now in (0.0, 0.9, 1.1, 3.0, 3.2, 7.1, 7.3, 15.4, 31.5, 63.6, 63.7, 123.5, 123.7):
        with pytest.raises(OutboundError):
            await world.resolver.resolve(ALICE)
        asked.append(len(world.directory.asked))

    assert asked == [1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 7, 8]

    world.publish(document(alsoKnownAs=[]))
    world.now = 184.0
    assert (await world.resolver.resolve(ALICE)).pds == HOSTED
    world.now += 3601  # after an answer, a failure is the first one again
    world.publish(b"", 503)
    with pytest.raises(OutboundError):
        await world.resolver.resolve(ALICE)
    world.publish(document(alsoKnownAs=[]))
    world.now += 1.1
    assert (await world.resolver.resolve(ALICE)).pds == HOSTED


async def test_an_account_that_the_directory_does_not_show_yet_is_found_a_moment_later(world: World) -> None:
    """The directory may be slower than the account's first commit."""
    unknown = await world.resolver.resolve(ALICE)
    world.publish(document(alsoKnownAs=[]))
    world.now = 1.1

    known = await world.resolver.resolve(ALICE)

    assert (unknown.signing_key, known.signing_key) == (None, KEY)


async def test_an_account_without_a_key_is_looked_up_again_after_a_restart(world: World) -> None:
    world.publish(document(alsoKnownAs=[]))

    world.resolver.remember(IdentityFact(ALICE, INVALID_HANDLE, None, None), seconds_ago=5)

    assert (await world.resolver.resolve(ALICE)).signing_key == KEY


async def test_a_labeler_without_a_repo_is_remembered_as_others_are(world: World) -> None:
    """It may have the key of its labels alone, and each of its frames asks for that."""
    method = {"id": "#atproto_label", "type": "Multikey", "controller": ALICE, "publicKeyMultibase": KEY}
    world.publish(document(alsoKnownAs=[], verificationMethod=[method]))
    for world.now in (0.0, 60.0, 3599.0):
        assert (await world.resolver.resolve(ALICE)).label_key == KEY

    assert len(world.directory.asked) == 1


async def test_a_flood_of_events_of_one_account_looks_it_up_six_times_a_minute(world: World) -> None:
    """The next look-up is refused rather than kept waiting, which would hold up other accounts."""
    world.publish(document(alsoKnownAs=[]))
    for _ in range(6):
        world.now += 1
        await world.resolver.resolve(ALICE)
        world.resolver.forget(ALICE)

    with pytest.raises(NotNow) as refused:
        await world.resolver.resolve(ALICE)
    world.now += refused.value.retry_after + 0.1

    assert refused.value.retry_after == 55.0
    assert (await world.resolver.resolve(ALICE)).signing_key == KEY


async def test_answers_are_remembered_for_an_hour(world: World) -> None:
    world.publish(document(alsoKnownAs=[]))
    for world.now in (0.0, 10.0, 3599.0, 3601.0):
        await world.resolver.resolve(ALICE)

    assert len(world.directory.asked) == 2


async def test_many_who_ask_at_once_make_one_request(world: World) -> None:
    world.publish(document(alsoKnownAs=[]))
    world.directory.delay_seconds = 0.05

    answers = await asyncio.gather(*(world.resolver.resolve(ALICE) for _ in range(50)))

    assert len(set(answers)) == 1
    assert len(world.directory.asked) == 1


async def test_an_identity_is_cached_before_its_look_up_is_over(world: World) -> None:
    """Who asks in that moment has the cached one, as everyone after it."""
    world.publish(document(alsoKnownAs=[]))
    asking = asyncio.create_task(world.resolver.resolve(ALICE))
    await asyncio.sleep(0)
    flight = world.resolver._flights[ALICE]
    while not flight.done():  # noqa: ASYNC110 - each moment counts
        await asyncio.sleep(0)

    assert world.resolver.holds(await world.resolver.resolve(ALICE))
    assert world.resolver.holds(await asking)


async def test_one_who_gives_up_does_not_fail_the_others(world: World) -> None:
    world.publish(document(alsoKnownAs=[]))
    world.directory.delay_seconds = 0.05
    impatient = asyncio.create_task(world.resolver.resolve(ALICE))
    patient = asyncio.create_task(world.resolver.resolve(ALICE))
    await asyncio.sleep(0.01)

    impatient.cancel()

    assert (await patient).pds == HOSTED


async def test_forgetting_asks_again_even_while_an_answer_is_under_way(world: World) -> None:
    """An #identity that arrives during a look-up is about what comes after it."""
    world.publish(document(alsoKnownAs=[]))
    world.directory.delay_seconds = 0.05
    early = asyncio.create_task(world.resolver.resolve(ALICE))
    await asyncio.sleep(0.02)
    world.resolver.forget(ALICE)
    world.publish(document(alsoKnownAs=[], service=service("https://new.example.com")))

    late = await world.resolver.resolve(ALICE)
    await early

    assert late.pds == "https://new.example.com"
    assert (await world.resolver.resolve(ALICE)).pds == "https://new.example.com"


async def test_a_text_that_is_no_handle_is_asked_nowhere(world: World) -> None:
    """It would choose where we ask; and an answer that is no DID names no account."""
    handles = world.resolver._handles
    for name in (f"{HANDLE}:8443/x?y=1#", f"{HANDLE}/x", "a b.test", "nodots", f"{HANDLE}\x00"):
        world.at[0] = f"{ALICE}\n"
        assert await handles.find(Handle(name)) is None
    world.at[0] = "did:plc:alice\x00"
    assert await handles.find(Handle(HANDLE)) is None


async def test_a_handle_service_replaces_dns_and_https() -> None:
    """With a service configured only that is asked; its 400 means that the handle names nobody."""
    async with Pages() as pages, Outbound(Dns(), allow_loopback=True) as outbound:
        handles = Handles(outbound, Dns(), service=pages.url, allow_test=True)
        ask = "/xrpc/com.atproto.identity.resolveHandle?handle="
        pages.answers[f"{ask}alice.test"] = (200, orjson.dumps({"did": ALICE}))
        pages.answers[f"{ask}nobody.test"] = (400, b"{}")
        pages.answers[f"{ask}broken.test"] = (200, b"not json")
        pages.answers[f"{ask}forbidden.test"] = (403, b"{}")

        assert await handles.find(Handle("alice.test")) == ALICE
        assert await handles.find(Handle("nobody.test")) is None
        for name in ("broken.test", "forbidden.test", "no-such-page.test"):
            with pytest.raises(OutboundError) as unasked:
                await handles.find(Handle(name))
            assert unasked.value.transient


async def test_what_was_found_before_a_restart_is_not_asked_for_again_until_it_is_old(world: World) -> None:
    known = IdentityFact(ALICE, Handle(HANDLE), HOSTED, KEY)

    world.resolver.remember(known, seconds_ago=3000)

    assert await world.resolver.resolve(ALICE) == known
    assert world.directory.asked == []
    world.now = 700
    with contextlib.suppress(OutboundError):
        await world.resolver.resolve(ALICE)
    assert world.directory.asked != []
