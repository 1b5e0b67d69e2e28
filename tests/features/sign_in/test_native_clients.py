"""Sign-ins of programs on the person's own machine: a loopback redirect or a pasted code, bound by PKCE."""

import base64
import hashlib
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from readapi.pds.native_clients import NativeClient, UnusableParameter
from schemas.settings import Settings
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.door import TOLD, Door, opened
from tests.readapi.music import Reply

LISTENER = "http://127.0.0.1:49152/back"
PAGE = {"Accept": "text/html,*/*;q=0.8"}
VERIFIER = "v" * 43


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


CHALLENGE = challenge_of(VERIFIER)


async def begin(door: Door, person: Person, **more: str) -> Reply:
    """`POST /auth/start` with a challenge and `more`."""
    sent = {"handle": person.account.handle, "code_challenge_method": "S256", "code_challenge": CHALLENGE}
    return await door.ask("POST", f"/auth/start?{urlencode(sent | more)}", **TOLD)


async def lead_back(door: Door, person: Person, begun: Reply) -> tuple[str, dict[str, str]]:
    """The address that the browser is sent to after the callback, without its query, and the query."""
    assert begun.status == 200, begun.json
    back = urlencode(await person.agree(begun.json["auth_url"]))
    led = await door.ask("GET", f"/auth/callback?{back}", **PAGE)
    assert led.status == 303, led.json
    address, _, query = led.headers["Location"].partition("?")
    return address, dict(parse_qsl(query))


async def exchange(door: Door, code: str, verifier: str | None = None, **headers: str) -> Reply:
    sent = {"exchange_token": code} | ({} if verifier is None else {"code_verifier": verifier})
    return await door.ask("POST", "/auth/exchange", sent, **headers)


@pytest.mark.network
async def test_a_program_signs_in_by_its_listener(door: Door, person: Person) -> None:
    """The code comes with the state, is exchanged once, and gives a session that the program can end."""
    state = secrets.token_urlsafe(16) + "&=%"
    begun = await begin(door, person, redirect_uri=LISTENER, state=state)
    address, query = await lead_back(door, person, begun)
    reply = await exchange(door, query["code"], VERIFIER)
    again = await exchange(door, query["code"], VERIFIER)
    session = reply.json["session_id"]
    me = await door.me(session)
    ended = await door.ask("POST", "/auth/logout", session=session)

    assert (address, query) == (LISTENER, {"code": query["code"], "state": state})
    assert (reply.status, reply.json["did"]) == (200, person.account.did)
    assert "Set-Cookie" not in reply.headers
    assert (again.status, again.json["detail"]) == (401, "not_authenticated")
    assert (me.status, ended.status) == (200, 204)
    assert (await door.me(session)).status == 401


@pytest.mark.network
async def test_a_code_is_worth_nothing_without_its_verifier(door: Door, person: Person) -> None:
    """Nor in a browser; a refusal leaves it to the program that has the verifier."""
    _, query = await lead_back(door, person, await begin(door, person, redirect_uri=LISTENER))

    refused = [
        await exchange(door, query["code"]),
        await exchange(door, query["code"], "w" * 43),
        await exchange(door, query["code"], CHALLENGE),
        await exchange(door, query["code"], VERIFIER, Sec_Fetch_Site="same-origin", Origin=door.address),
    ]

    assert [(reply.status, reply.json["detail"]) for reply in refused] == [(401, "not_authenticated")] * 4
    assert refused[0].json["message"] == "The code verifier is missing, or is not the one of this sign-in."
    assert (await exchange(door, query["code"], VERIFIER)).status == 200


@pytest.mark.network
async def test_a_verifier_without_a_challenge_is_refused(door: Door, person: Person) -> None:
    """Else an attacker's own exchange token, sent to the listener, would sign the program in as them."""
    token = await door.arrive(person, await door.start(person))

    refused = await exchange(door, token, VERIFIER)

    assert (refused.status, refused.json["message"]) == (401, "This sign-in began without a code challenge.")
    assert (await exchange(door, token)).status == 200


@pytest.mark.network
async def test_a_listener_is_told_of_a_refusal(door: Door, person: Person) -> None:
    begun = await begin(door, person, redirect_uri="http://[::1]:1", state="mine")
    back = urlencode(await person.refuse(begun.json["auth_url"]))
    led = await door.ask("GET", f"/auth/callback?{back}", **PAGE)

    onward = urlsplit(led.headers["Location"])
    assert onward.netloc == "[::1]:1"
    assert dict(parse_qsl(onward.query)) == {
        "error": "access_denied",
        "error_description": "Access was denied on your server.",
        "state": "mine",
    }


@pytest.mark.network
async def test_a_page_shows_the_code_where_there_is_no_listener(
    net: Testnet, tmp_path: Path, person: Person
) -> None:
    """Also where a web application is: it has nothing to do with this sign-in."""
    async with opened(net, Settings(data_dir=tmp_path), web_url="https://app.example") as door:
        address, query = await lead_back(door, person, await begin(door, person))
        page = await door.ask("GET", f"{address}?{urlencode(query)}", **PAGE)

        assert address == "/login/arrived"
        assert f">{query['exchange_token']}</code>" in page.json
        assert (await exchange(door, query["exchange_token"])).status == 401
        assert (await exchange(door, query["exchange_token"], VERIFIER)).status == 200


@pytest.mark.network
async def test_what_is_unsuitable_is_refused_before_anybody_is_asked(door: Door, person: Person) -> None:
    """One sentence names the parameter; a browser begins no such sign-in."""
    handle = person.account.handle
    elsewhere = await begin(door, person, redirect_uri="https://evil.example/")
    bare = await door.ask("POST", f"/auth/start?{urlencode({'handle': handle, 'redirect_uri': LISTENER})}")
    query = {"handle": handle, "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    of_a_page = await door.ask("POST", f"/auth/start?{urlencode(query)}", Sec_Fetch_Site="same-origin")

    assert [reply.status for reply in (elsewhere, bare, of_a_page)] == [422, 422, 422]
    assert elsewhere.json["errors"] == [{"field": "redirect_uri", "message": elsewhere.json["message"]}]
    assert elsewhere.json["message"].startswith("redirect_uri must be http://127.0.0.1:PORT/")
    assert bare.json["errors"][0]["field"] == "code_challenge"


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:65536/",
        "http://127.0.0.1:80@evil.example/",
        "http://127.0.0.1:80.evil.example/",
        "http://evil.example/#http://127.0.0.1:80/",
        "http://localhost:80/",
        "https://127.0.0.1:80/",
        "http://127.0.0.2:80/",
        "http://127.0.0.1:80/?a=b",
        "http://127.0.0.1:80/#a",
        "http://127.0.0.1:80/\n",
        "http://127.0.0.1:80\\@evil.example/",
        "http://127.0.0.1:٨٠/",
        "//127.0.0.1:80/",
        "fmsvc:/back",
        "",
    ],
)
def test_only_loopback_addresses_are_taken(address: str) -> None:
    with pytest.raises(UnusableParameter) as refused:
        NativeClient.check(address, None, CHALLENGE, "S256")
    assert refused.value.field == "redirect_uri"


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "http://127.0.0.1:65535/a/b", "http://[::1]:8080/"]
)
def test_any_port_of_loopback_is_taken(address: str) -> None:
    client = NativeClient.check(address, "s", CHALLENGE, "S256")
    assert client == NativeClient(CHALLENGE, address, "s")
    assert NativeClient.read(client.details()) == client


@pytest.mark.parametrize(
    ("challenge", "method", "state", "field"),
    [
        (None, "S256", None, "code_challenge"),
        (None, None, "alone", "code_challenge"),
        ("a" * 42, "S256", None, "code_challenge"),
        ("a" * 42 + "=", "S256", None, "code_challenge"),
        (CHALLENGE, "plain", None, "code_challenge_method"),
        (CHALLENGE, None, None, "code_challenge_method"),
        (CHALLENGE, "S256", "two words", "state"),
        (CHALLENGE, "S256", "", "state"),
        (CHALLENGE, "S256", "x" * 201, "state"),
    ],
)
def test_a_challenge_of_another_kind_is_refused(
    challenge: str | None, method: str | None, state: str | None, field: str
) -> None:
    with pytest.raises(UnusableParameter) as refused:
        NativeClient.check(None, state, challenge, method)
    assert refused.value.field == field
