"""People sign in at a real PDS, and what they granted is used, renewed and ended there."""

import asyncio
import itertools
from dataclasses import replace

import pytest

from readapi.oauth import scopes
from readapi.oauth.client import OAuthClient
from readapi.oauth.errors import Denied, OAuthError, Refused, Unavailable
from readapi.oauth.grant import Flight, Grant
from readapi.oauth.network import Network
from tests.network.person import Person, TurnedAway
from tests.network.testnet import Testnet
from tests.readapi.oauth import clients
from tests.readapi.oauth.clients import LOOPBACK, SCOPE, Published

pytestmark = pytest.mark.network

LIKE = b'{"repo":"%s","collection":"fm.svc.like","record":{"$type":"fm.svc.like","createdAt":"2026-01-01T00:00:00Z"}}'


async def sign_in(client: OAuthClient, person: Person, granting: str | None = None) -> Grant:
    flight, page = await client.begin(person.account.handle, SCOPE)
    return await client.finish(flight, await person.agree(page, granting))


async def writes(client: OAuthClient, grant: Grant, collection: str = "fm.svc.like") -> int:
    """The status of an attempt to write a record."""
    url = f"{grant.pds}/xrpc/com.atproto.repo.createRecord"
    body = LIKE.replace(b"%s", grant.did.encode()).replace(b"fm.svc.like", collection.encode())
    response = await client.request(
        grant, "POST", url, headers={"Content-Type": "application/json"}, body=body
    )
    return response.status


async def refused(client: OAuthClient, grant: Grant) -> Refused:
    """How a refresh of a dead grant ends."""
    with pytest.raises(Refused) as caught:
        await client.refresh(grant)
    return caught.value


async def test_a_person_signs_in_and_lets_us_write(either: OAuthClient, person: Person) -> None:
    """What is asked for is granted, and a record can be written with it."""
    grant = await sign_in(either, person)

    assert grant.did == person.account.did
    assert grant.pds == person.origin
    assert grant.tokens.scopes == frozenset(SCOPE.split())
    assert (grant.client_key is None) == grant.server.issuer.startswith("http") or grant.client_key
    assert await writes(either, grant) == 200
