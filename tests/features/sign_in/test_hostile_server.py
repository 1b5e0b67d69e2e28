"""Servers that lie, babble or break get nobody signed in, and no token is sent or believed."""

import itertools
import traceback
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from indexer.network.identity.dns import Dns
from readapi.oauth import endpoints
from readapi.oauth.client import REFRESH_SECONDS, OAuthClient
from readapi.oauth.errors import Kind, OAuthError, OAuthRefused, Unavailable
from readapi.oauth.grant import Grant, PendingAuthorization
from tests.network import doubles, hostile
from tests.network.hostile import Hostile
from tests.readapi.oauth import clients

ELSEWHERE = "https://elsewhere.example.com"
SOMEBODY_ELSE = "did:plc:zzzzzzzzzzzzzzzzzzzzzzzz"
NONSENSE = (hostile.page, hostile.huge, hostile.endless, hostile.redirect, hostile.broken, hostile.hang_up)


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as started:
        yield started


@pytest.fixture
async def hostile_client(server: Hostile) -> AsyncIterator[OAuthClient]:
    async with clients.connected(server.url, server.url, Dns()) as network:
        yield clients.loopback(network)


async def begun(client: OAuthClient) -> PendingAuthorization:
    flight, _ = await client.begin("alice.test", "atproto")
    return flight


async def finished(client: OAuthClient, flight: PendingAuthorization) -> Grant:
    params = {"state": flight.state, "iss": flight.server.issuer, "code": "code"}
    return await client.finish(flight, params)


async def granted(client: OAuthClient) -> Grant:
    return await finished(client, await begun(client))


async def test_the_double_signs_people_in(server: Hostile, hostile_client: OAuthClient) -> None:
    """Everything below fails for its own reason."""
    flight, page = await hostile_client.begin("alice.test", "atproto", prompt="login")
    grant = await finished(hostile_client, flight)

    assert page.startswith(f"{server.url}/authorize?ui=plain&client_id=http")
    assert (grant.did, grant.tokens.access_token) == (doubles.ALICE, "access")
    assert server.forms[0]["login_hint"] == "alice.test"
    assert server.forms[0]["prompt"] == "login"


@pytest.mark.parametrize(
    ("endpoint", "changes", "kind"),
    [
        ("handle", {"did": None}, "identity_not_found"),
        ("handle", {"did": "not a did"}, "identity_not_found"),
        ("document", {"alsoKnownAs": ["at://mallory.test"]}, "identity_mismatch"),
        ("document", {"alsoKnownAs": []}, "identity_mismatch"),
        ("document", {"service": []}, "account_not_found"),
        ("document", {"service": doubles.service("http://10.0.0.1")}, "account_not_found"),
        ("resource", {"resource": ELSEWHERE}, "server_unsuitable"),
        ("resource", {"resource": None}, "server_unsuitable"),
        ("resource", {"authorization_servers": None}, "server_unsuitable"),
        ("resource", {"authorization_servers": []}, "server_unsuitable"),
        ("resource", {"authorization_servers": [ELSEWHERE, ELSEWHERE]}, "server_unsuitable"),
        ("resource", {"authorization_servers": [f"{ELSEWHERE}/path"]}, "server_unsuitable"),
        ("resource", {"authorization_servers": ["http://elsewhere.example.com"]}, "server_unsuitable"),
        ("resource", {"authorization_servers": ["javascript:alert(1)"]}, "server_unsuitable"),
        ("resource", {"authorization_servers": ["https://10.0.0.1"]}, "server_unavailable"),
        ("server", {"issuer": ELSEWHERE}, "server_unsuitable"),
        ("server", {"issuer": None}, "server_unsuitable"),
        ("server", {"protected_resources": [ELSEWHERE]}, "server_unsuitable"),
        ("server", {"pushed_authorization_request_endpoint": None}, "server_unsuitable"),
        ("server", {"authorization_endpoint": "javascript:alert(1)"}, "server_unsuitable"),
        ("server", {"authorization_endpoint": "https://user@elsewhere.example.com/"}, "server_unsuitable"),
        ("server", {"token_endpoint": "http://169.254.169.254/"}, "server_unsuitable"),
        ("server", {"pushed_authorization_request_endpoint": "https://10.0.0.1/"}, "server_unavailable"),
        ("server", {"response_types_supported": ["token"]}, "server_unsuitable"),
        ("server", {"grant_types_supported": ["authorization_code"]}, "server_unsuitable"),
        ("server", {"code_challenge_methods_supported": ["plain"]}, "server_unsuitable"),
        ("server", {"dpop_signing_alg_values_supported": None}, "server_unsuitable"),
        ("server", {"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, "server_unsuitable"),
        ("server", {"scopes_supported": ["openid"]}, "server_unsuitable"),
        ("server", {"authorization_response_iss_parameter_supported": False}, "server_unsuitable"),
        ("server", {"client_id_metadata_document_supported": None}, "server_unsuitable"),
        ("par", {"request_uri": None}, "server_unavailable"),
        ("par", {"request_uri": "urn:x\r\nSet-Cookie: a=b"}, "server_unavailable"),
    ],
)
async def test_what_a_server_says_of_itself_must_hold(
    server: Hostile, hostile_client: OAuthClient, endpoint: str, changes: dict[str, Any], kind: Kind
) -> None:
    """One lie and nobody is sent there."""
    server.changes[endpoint] = changes

    with pytest.raises(OAuthError) as refused:
        await begun(hostile_client)

    assert refused.value.kind == kind


@pytest.mark.parametrize("endpoint", ["resource", "server", "par"])
@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda nonsense: nonsense.__name__)
async def test_no_sense_is_made_of_nonsense(
    server: Hostile, hostile_client: OAuthClient, endpoint: str, nonsense: hostile.Answering
) -> None:
    """Pages, floods, redirects and silence are errors with a sentence."""
    server.instead[endpoint] = nonsense

    with pytest.raises((OAuthRefused, Unavailable)):
        await begun(hostile_client)

    assert server.asked[hostile.ELSEWHERE] == 0


async def test_a_server_that_stalls_is_not_waited_for(server: Hostile) -> None:
    """However many answers it would take."""
    server.instead["par"] = hostile.stall
    async with clients.connected(server.url, server.url, Dns()) as network:
        impatient = OAuthClient(clients.LOOPBACK, network, allow_loopback=True, begin_seconds=0.2)

        with pytest.raises(Unavailable):
            await begun(impatient)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"sub": SOMEBODY_ELSE}, "identity_mismatch"),
        ({"token_type": "Bearer"}, "server_unsuitable"),
        ({"scope": "repo:*"}, "server_unsuitable"),
    ],
)
async def test_tokens_that_may_not_be_used_are_given_back(
    server: Hostile, hostile_client: OAuthClient, changes: dict[str, Any], kind: Kind
) -> None:
    """Somebody else's, or not bound to a key, or not of the protocol."""
    server.changes["token"] = changes

    with pytest.raises(OAuthRefused) as refused:
        await granted(hostile_client)

    assert refused.value.kind == kind
    assert server.forms[-1]["token"] == "refresh"
    assert server.asked["revoke"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"access_token": None},
        {"access_token": "a-secret and more"},
        {"access_token": "line\r\nX-Injected: 1"},
        {"access_token": 1},
        {"refresh_token": ["refresh"]},
        {"sub": None},
        {"scope": ["atproto"]},
        {"expires_in": "never"},
    ],
)
async def test_tokens_must_be_tokens(
    server: Hostile, hostile_client: OAuthClient, changes: dict[str, Any]
) -> None:
    """What is wrong is told, and nothing of what was right."""
    server.changes["token"] = {"refresh_token": "a-secret"} | changes

    with pytest.raises(Unavailable) as refused:
        await granted(hostile_client)

    told = "".join(traceback.format_exception(refused.value))
    assert next(iter(changes)) in told
    assert "a-secret" not in told


@pytest.mark.parametrize(
    ("said", "seconds"), [(3600, 3600), (None, 300), (-5, 0), (1e300, 86400), ("60", 60), (0.5, 0.5)]
)
async def test_tokens_last_for_a_sensible_time(
    server: Hostile, hostile_client: OAuthClient, said: object, seconds: float
) -> None:
    """Whatever the server says."""
    server.changes["token"] = {"expires_in": said}
    before = datetime.now(UTC)

    grant = await granted(hostile_client)

    assert (
        timedelta(0) <= grant.tokens.expires_at - before - timedelta(seconds=seconds) < timedelta(seconds=5)
    )


async def test_what_was_granted_without_a_word_is_what_was_asked_for(
    server: Hostile, hostile_client: OAuthClient
) -> None:
    """By RFC 6749, 5.1; of a refresh, what there was before."""
    server.changes["token"] = {"scope": "atproto repo:fm.svc.like"}
    less = await granted(hostile_client)
    server.changes["token"] = {"scope": None}

    asked = await granted(hostile_client)
    refreshed = await hostile_client.refresh(less)

    assert asked.tokens.scopes == {"atproto"}
    assert refreshed.scopes == {"atproto", "repo:fm.svc.like"}


async def test_a_refresh_is_waited_for_longer_than_other_answers(server: Hostile) -> None:
    """It is spent with the question; the limit is its own."""
    async with clients.connected(server.url, server.url, Dns()) as network:
        patient = clients.loopback(network)
        grant = await granted(patient)
        impatient = OAuthClient(clients.LOOPBACK, network, allow_loopback=True, refresh_seconds=0.1)
        server.instead["token"] = hostile.stall

        with pytest.raises(Unavailable):
            await impatient.refresh(grant)

    assert REFRESH_SECONDS > endpoints.ANSWER_SECONDS


async def test_a_server_may_want_another_nonce_every_time(
    server: Hostile, hostile_client: OAuthClient
) -> None:
    """Each request is made at most twice."""
    flight = await begun(hostile_client)
    server.nonces = iter(["first"])

    assert await finished(hostile_client, flight)
    assert server.asked["token"] == 2


@pytest.mark.parametrize("tells", [True, False])
async def test_a_server_that_only_ever_wants_another_nonce_is_left(
    server: Hostile, hostile_client: OAuthClient, tells: bool
) -> None:
    """After two requests, or one when it does not say which nonce."""
    grant = await granted(hostile_client)
    asked = server.asked["token"]
    server.nonces = map(str, itertools.count())
    server.tells_nonce = tells

    with pytest.raises(Unavailable):
        await hostile_client.refresh(grant)

    assert server.asked["token"] - asked == (2 if tells else 1)


async def test_a_server_that_wants_the_nonce_that_it_got_is_left(
    server: Hostile, hostile_client: OAuthClient
) -> None:
    """The same again would change nothing."""
    server.nonces = itertools.repeat("same")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await begun(hostile_client)

    assert server.asked["par"] == 2 + 1


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda nonsense: nonsense.__name__)
async def test_a_refresh_that_fails_for_a_while_ends_nothing(
    server: Hostile, hostile_client: OAuthClient, nonsense: hostile.Answering
) -> None:
    grant = await granted(hostile_client)
    server.instead["token"] = nonsense

    with pytest.raises(Unavailable):
        await hostile_client.refresh(grant)


@pytest.mark.parametrize(
    ("error", "status", "is_dead"),
    [
        ("invalid_grant", 400, True),
        ("invalid_grant", 401, True),
        ("invalid_grant", 500, False),
        ("invalid_client", 401, False),
        ("invalid_client_metadata", 400, False),
        ("invalid_request", 400, False),
        ("server_error", 500, False),
        ("temporarily_unavailable", 400, False),
        ("slow_down", 429, False),
    ],
)
async def test_only_one_refusal_ends_a_grant(
    server: Hostile, hostile_client: OAuthClient, error: str, status: int, is_dead: bool
) -> None:
    """The others may be for what we did wrong, or for a while; the log is told, on one line."""
    grant = await granted(hostile_client)
    server.instead["token"] = hostile.refusing(error, status)

    with pytest.raises(OAuthRefused if is_dead else Unavailable) as refused:
        await hostile_client.refresh(grant)

    assert error in str(refused.value)
    assert str(refused.value).isprintable()


async def test_refreshing_never_changes_who_somebody_is(server: Hostile, hostile_client: OAuthClient) -> None:
    grant = await granted(hostile_client)
    server.changes["token"] = {"sub": SOMEBODY_ELSE}

    with pytest.raises(OAuthRefused) as refused:
        await hostile_client.refresh(grant)

    assert refused.value.kind == "identity_mismatch"


async def test_a_refresh_token_may_stay_the_same(server: Hostile, hostile_client: OAuthClient) -> None:
    """Not every server replaces it."""
    grant = await granted(hostile_client)
    server.changes["token"] = {"refresh_token": None, "access_token": "newer"}

    tokens = await hostile_client.refresh(grant)

    assert (tokens.access_token, tokens.refresh_token) == ("newer", "refresh")


async def test_without_a_refresh_token_a_grant_ends_with_its_access_token(
    server: Hostile, hostile_client: OAuthClient
) -> None:
    """What there is can still be revoked."""
    server.changes["token"] = {"refresh_token": None}
    grant = await granted(hostile_client)

    with pytest.raises(OAuthRefused):
        await hostile_client.refresh(grant)
    await hostile_client.revoke(grant)

    assert server.forms[-1]["token"] == "access"


async def test_not_every_server_can_revoke(server: Hostile, hostile_client: OAuthClient) -> None:
    """Then there is nothing to ask."""
    server.changes["server"] = {"revocation_endpoint": None}

    await hostile_client.revoke(await granted(hostile_client))

    assert server.asked["revoke"] == 0


@pytest.mark.parametrize("status", [301, 400, 503])
async def test_a_revocation_that_fails_says_so(
    server: Hostile, hostile_client: OAuthClient, status: int
) -> None:
    grant = await granted(hostile_client)
    server.instead["revoke"] = hostile.refusing("invalid_request", status)

    with pytest.raises(OAuthError):
        await hostile_client.revoke(grant)


async def test_an_account_that_moves_midway_must_begin_again(
    server: Hostile, hostile_client: OAuthClient
) -> None:
    """Its new server trusts another to sign people in; the code is not even shown to the old one."""
    flight = await begun(hostile_client)
    grant = await finished(hostile_client, flight)
    asked = server.asked["token"]
    async with Hostile() as other:
        server.changes["document"] = {"service": doubles.service(other.url)}
        async with clients.connected(server.url, server.url, Dns()) as network:
            later = clients.loopback(network)

            with pytest.raises(OAuthRefused) as refused:
                await finished(later, flight)
            with pytest.raises(OAuthRefused) as ended:
                await later.refresh(grant)

    assert (refused.value.kind, ended.value.kind) == ("identity_mismatch", "invalid_grant")
    assert server.asked["token"] == asked
    assert server.asked["revoke"] == 1, "what was granted at the old one ends there"


@pytest.mark.parametrize("nonsense", [hostile.broken, hostile.page, hostile.hang_up])
async def test_a_grant_is_renewed_while_nobody_knows_who_it_is(
    server: Hostile, hostile_client: OAuthClient, nonsense: hostile.Answering
) -> None:
    """A directory that is down or out of its mind signs nobody out."""
    grant = await granted(hostile_client)
    server.instead["document"] = nonsense
    async with clients.connected(server.url, server.url, Dns()) as network:
        assert await clients.loopback(network).refresh(grant)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("access_denied", "access_denied"),
        ("server_error", "server_unavailable"),
        ("temporarily_unavailable", "server_unavailable"),
        ("login_required", "server_refused"),
        ("<script>", "server_refused"),
    ],
)
async def test_what_comes_back_instead_of_a_code_is_told_apart(
    hostile_client: OAuthClient, error: str, kind: Kind
) -> None:
    flight = await begun(hostile_client)
    params = {"state": flight.state, "iss": flight.server.issuer, "error": error, "code": "code"}

    with pytest.raises(OAuthError) as refused:
        await hostile_client.finish(
            flight, params | {"error_description": "because " + "x" * 40 + "\n" + "y " * 999}
        )

    assert refused.value.kind == kind
    assert error not in refused.value.sentence
    if kind == "server_refused":
        assert refused.value.upstream is not None
        assert refused.value.upstream.error == error
        assert refused.value.upstream.message.startswith("because … y y")
        assert len(refused.value.upstream.message) <= 300


@pytest.mark.parametrize("changes", [{"iss": ELSEWHERE}, {"state": "another"}, {"code": ""}])
async def test_another_answer_is_not_taken(
    server: Hostile, hostile_client: OAuthClient, changes: dict[str, str]
) -> None:
    """A server that leads people on to another, to have that one's codes shown to it, sees none."""
    flight = await begun(hostile_client)
    asked = server.asked.copy()
    params = {"state": flight.state, "iss": flight.server.issuer, "code": "code"}

    with pytest.raises(OAuthRefused) as refused:
        await hostile_client.finish(flight, params | changes)

    assert refused.value.kind == "callback_mismatch"
    assert server.asked == asked


async def test_a_flight_is_finished_by_whoever_holds_it(server: Hostile, hostile_client: OAuthClient) -> None:
    """Another process, or the same one restarted: all that is needed is in the flight and the grant."""
    flight = await begun(hostile_client)
    async with clients.connected(server.url, server.url, Dns()) as network:
        later = clients.loopback(network)
        grant = await finished(later, flight)

        assert await later.refresh(replace(grant))
