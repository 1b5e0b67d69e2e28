"""People sign in at a real PDS, and what they granted is used, renewed and ended there."""

from dataclasses import replace

import orjson
import pytest
from yarl import URL

import lexicons
from readapi.oauth import keys, scopes
from readapi.oauth.client import OAuthClient
from readapi.oauth.errors import Denied, OAuthRefused, Unavailable
from readapi.oauth.grant import Grant
from readapi.oauth.network import Network
from tests.network.person import Person, TurnedAway
from tests.network.testnet import Testnet
from tests.readapi.oauth.clients import LOOPBACK, SCOPE, Published, sign_in, write

pytestmark = pytest.mark.network

LIKE, COMMENT = "repo:fm.svc.like", "repo:fm.svc.comment"


async def is_dead(client: OAuthClient, grant: Grant) -> bool:
    """Does the server say that the grant has ended?"""
    with pytest.raises(OAuthRefused) as refused:
        await client.refresh(grant)
    return refused.value.kind == "invalid_grant"


async def test_a_person_signs_in_and_lets_us_write(either: OAuthClient, person: Person) -> None:
    """What is asked for is granted, and a record can be written with it."""
    grant = await sign_in(either, person)

    assert grant.did == person.account.did
    assert grant.pds == person.origin
    assert grant.tokens.scopes == frozenset(SCOPE.split())
    assert await write(either, grant) == 200


async def test_whoever_signs_in_may_be_named_as_it_was_copied(client: OAuthClient, person: Person) -> None:
    """With an @, in capitals, with what browsers put around it, as an at-uri, or by DID."""
    handle, did = person.account.handle, person.account.did

    for name in (f" @{handle.upper()}\u200b\n", f"\u202a{handle}\u202c", f"at://{did}", did):
        flight, _ = await client.begin(name, SCOPE)

        assert (flight.identity.did, flight.identity.handle) == (did, handle)


@pytest.mark.parametrize("name", ["nobody-at-all.test", "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "no name", ""])
async def test_nobody_signs_in_as_somebody_unknown(client: OAuthClient, name: str) -> None:
    with pytest.raises(OAuthRefused) as refused:
        await client.begin(name, SCOPE)

    assert refused.value.kind in ("identity_not_found", "account_not_found")


async def test_what_was_granted_decides(client: OAuthClient, person: Person) -> None:
    """A person may agree to less than was asked for."""
    grant = await sign_in(client, person, granting=f"atproto {LIKE}")

    assert grant.tokens.scopes == {"atproto", LIKE}
    assert scopes.missing_scopes(grant.tokens.scopes, (LIKE, COMMENT), LOOPBACK.collections) == (COMMENT,)
    assert await write(client, grant, "fm.svc.like") == 200
    assert await write(client, grant, "fm.svc.comment") == 403


async def test_a_permission_set_lets_us_write_what_is_in_it(
    net: Testnet, client: OAuthClient, person: Person
) -> None:
    """One scope by the name of a lexicon, which the server looks up and writes out in its own way."""
    lexicon = lexicons.read("authFullApp")
    await person.account.create_record("com.atproto.lexicon.schema", lexicon, rkey="fm.svc.authFullApp")
    await net.pds[0].look_up_lexicons_of(person.account.did)
    flight, page = await client.begin(person.account.did, f"atproto {LOOPBACK.collections.permission_set}")

    grant = await client.finish(flight, await person.agree(page))

    assert LIKE not in grant.tokens.scopes
    assert scopes.missing_scopes(grant.tokens.scopes, LOOPBACK.collections.scopes, LOOPBACK.collections) == ()
    assert await write(client, grant, "fm.svc.comment") == 200


async def test_a_person_may_say_no(either: OAuthClient, person: Person) -> None:
    flight, page = await either.begin(person.account.handle, SCOPE)
    back = await person.refuse(page)

    with pytest.raises(Denied):
        await either.finish(flight, back)


async def test_a_wrong_password_costs_one_attempt(client: OAuthClient, person: Person) -> None:
    """The page stays, and so does what was begun."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    await person.open(page)
    with pytest.raises(TurnedAway, match="sign-in: 4"):
        await person.sign_in(page, "guess")

    grant = await client.finish(flight, await person.agree(page))

    assert grant.did == person.account.did


async def test_a_code_is_good_once(client: OAuthClient, person: Person) -> None:
    """Shown again, it ends what it was exchanged for: one of the two had stolen it."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    back = await person.agree(page)
    grant = await client.finish(flight, back)

    with pytest.raises(OAuthRefused) as refused:
        await client.finish(flight, back)

    assert refused.value.kind == "invalid_grant"
    assert await write(client, grant) == 401


async def test_an_answer_to_something_else_spends_nothing(client: OAuthClient, person: Person) -> None:
    """Wrong or missing state, issuer or code: refused before the server hears of it."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    back = await person.agree(page)
    wrong = [{**back, name: value} for name in ("state", "iss") for value in ("https://other.example", "")]
    missing = [{name: back[name] for name in back if name != absent} for absent in ("state", "iss", "code")]

    for params in [*wrong, *missing, {}, {"error": "access_denied"}]:
        with pytest.raises(OAuthRefused) as refused:
            await client.finish(flight, params)
        assert refused.value.kind == "callback_mismatch"

    assert await client.finish(flight, back)


async def test_nobody_can_finish_what_another_began(client: OAuthClient, person: Person) -> None:
    """The code belongs to the flight's verifier and key."""
    _, page = await client.begin(person.account.handle, SCOPE)
    other, _ = await client.begin(person.account.handle, SCOPE)
    back = await person.agree(page)

    with pytest.raises(OAuthRefused) as refused:
        await client.finish(other, {**back, "state": other.state})

    assert refused.value.kind == "invalid_grant"


async def test_somebody_else_may_not_sign_in_instead(
    net: Testnet, client: OAuthClient, person: Person
) -> None:
    """Whoever was named is who must come back; what the other agreed to is given back."""
    other = Person(await net.pds[0].create_account(f"other-{person.account.handle}"))
    flight, page = await client.begin(person.account.handle, SCOPE)
    back = await other.agree(page)

    with pytest.raises(OAuthRefused) as refused:
        await client.finish(flight, back)

    assert refused.value.kind == "identity_mismatch"
    assert await other.agreements() == []


async def test_tokens_are_renewed(either: OAuthClient, person: Person) -> None:
    """The new ones work, the old access token does not."""
    grant = await sign_in(either, person)

    tokens = await either.refresh(grant)

    assert tokens.scopes == grant.tokens.scopes
    assert tokens.refresh_token != grant.tokens.refresh_token
    assert await write(either, replace(grant, tokens=tokens)) == 200
    assert await write(either, grant) == 401


async def test_a_refresh_token_used_twice_ends_the_grant(either: OAuthClient, person: Person) -> None:
    grant = await sign_in(either, person)
    renewed = replace(grant, tokens=await either.refresh(grant))

    assert await is_dead(either, grant)
    assert await is_dead(either, renewed)


async def test_a_grant_grows_old(net: Testnet, client: OAuthClient, person: Person) -> None:
    """A refresh token that waited too long is good for nothing."""
    grant = await sign_in(client, person)
    await net.pds[0].age_grants(person.account.did)

    assert await is_dead(client, grant)


async def test_we_end_a_grant(either: OAuthClient, person: Person) -> None:
    """Twice is once; nothing can be done with its tokens afterwards."""
    grant = await sign_in(either, person)

    await either.revoke(grant)
    await either.revoke(grant)

    assert await write(either, grant) == 401
    assert await is_dead(either, grant)


async def test_the_person_ends_a_grant(client: OAuthClient, person: Person) -> None:
    """In the list of applications at their own server."""
    grant = await sign_in(client, person)

    await person.end_all()

    assert await write(client, grant) == 401
    assert await is_dead(client, grant)


async def test_each_grant_stands_alone(client: OAuthClient, person: Person) -> None:
    """Renewing or ending one leaves another of the same account as it was."""
    one, other = await sign_in(client, person), await sign_in(client, person)

    await client.refresh(one)
    await client.revoke(one)

    assert await write(client, other) == 200
    assert (await client.refresh(other)).scopes == other.tokens.scopes


async def test_a_deactivated_account_stays_signed_in(client: OAuthClient, person: Person) -> None:
    """Its server lets it come in and stay, but lets nobody write until it is active again."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    back = await person.agree(page)
    await person.account.deactivate()

    grant = await client.finish(flight, back)
    grant = replace(grant, tokens=await client.refresh(grant))
    while_away = await write(client, grant)
    await person.account.activate()

    assert while_away == 401
    assert await write(client, grant) == 200


async def test_a_takedown_ends_grants(net: Testnet, client: OAuthClient, person: Person) -> None:
    """Whoever is let in again later signs in again."""
    grant = await sign_in(client, person)

    await net.pds[0].set_takedown(person.account.did, True)

    assert await is_dead(client, grant)


async def test_a_server_that_is_gone_midway_is_waited_for(
    net: Testnet, client: OAuthClient, person: Person
) -> None:
    """What was begun or granted is as good afterwards."""
    grant = await sign_in(client, person)
    flight, page = await client.begin(person.account.handle, SCOPE)
    back = await person.agree(page)

    async with net.pds[0].hung_up():
        for attempt in (client.finish(flight, back), client.refresh(grant), client.revoke(grant)):
            with pytest.raises(Unavailable):
                await attempt

    assert await client.finish(flight, back)
    assert await client.refresh(grant)


async def test_a_nonce_of_yesterday_is_replaced(client: OAuthClient, person: Person) -> None:
    """Servers change what they want in each proof; one more attempt is enough."""
    grant = await sign_in(client, person)
    nonces, origin = client._dpop._nonces, URL(person.account.pds.url).origin()
    assert nonces.find(origin), "the server has named one"
    nonces.keep(origin, "of-yesterday")
    assert len(nonces) == 1

    assert await write(client, grant) == 200


async def test_the_newest_key_signs(connection: Network, person: Person) -> None:
    """Each grant goes on with the key that it began with."""
    old, new = keys.generate_key(), keys.generate_key()
    async with Published(new, old) as published:
        client = OAuthClient(published.metadata, connection, allow_loopback=True)
        grant = await sign_in(client, person)

        assert grant.client_key == published.with_keys(new).keys.names[0]
        assert await client.refresh(grant)


async def test_keys_change_without_signing_anybody_out(connection: Network, person: Person) -> None:
    """A server that fetched our keys a while ago is still spoken to with one that it knows."""
    old, new = keys.generate_key(), keys.generate_key()
    async with Published(old) as published:
        before = await sign_in(OAuthClient(published.metadata, connection, allow_loopback=True), person)
        published.metadata = published.with_keys(new, old)
        client = OAuthClient(published.metadata, connection, allow_loopback=True)

        after = await sign_in(client, person)

        assert after.client_key == before.client_key
        assert await client.refresh(before)
        assert await client.refresh(after)


async def test_a_server_must_be_able_to_ask_who_we_are(connection: Network, person: Person) -> None:
    """A document or keys that cannot be fetched are ours to mend, and nobody is sent away for it."""
    async with Published() as published:
        metadata = published.metadata
    client = OAuthClient(metadata, connection, allow_loopback=True)

    with pytest.raises(OAuthRefused) as refused:
        await client.begin(person.account.handle, SCOPE)

    assert refused.value.kind == "client_refused"
    assert "Unable to obtain client metadata" in str(refused.value)


async def test_a_grant_ends_with_its_key(connection: Network, client: OAuthClient, person: Person) -> None:
    """And with there being none. Nobody is asked: servers end a grant that another key asks for."""
    async with Published() as published:
        confidential = OAuthClient(published.metadata, connection, allow_loopback=True)
        with_key, without = await sign_in(confidential, person), await sign_in(client, person)

        assert await is_dead(client, with_key)
        assert await is_dead(confidential, without)
        assert await confidential.refresh(with_key)
        assert await client.refresh(without)


async def test_tokens_go_to_their_own_server_only(client: OAuthClient, person: Person) -> None:
    grant = await sign_in(client, person)

    for url in ("https://other.example/xrpc/x", grant.pds.replace("localhost", "127.0.0.1")):
        with pytest.raises(ValueError, match="own server"):
            await client.request(grant, "GET", url)


async def test_secrets_are_not_shown(client: OAuthClient, person: Person) -> None:
    """Printing what is under way or was granted gives nothing away."""
    flight, page = await client.begin(person.account.handle, SCOPE)
    grant = await client.finish(flight, await person.agree(page))
    shown = repr((flight, grant))

    hidden = [flight.state, flight.verifier, grant.tokens.access_token, str(grant.tokens.refresh_token)]
    assert not any(secret in shown for secret in [*hidden, orjson.loads(grant.dpop_key)["d"]])
