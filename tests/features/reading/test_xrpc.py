"""XRPC through a real PDS: an application names this service in `atproto-proxy`, the PDS says who asks."""

import pytest
from atproto import AsyncClient
from atproto_client.models.base import ParamsModelBase

from tests.network.pds import Account, Json
from tests.network.xrpc_client import Call, call_queries
from tests.readapi.music import Reply
from tests.readapi.studio import Artist, Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

GET_TRACK = "fm.svc.getTrack"
UNHEARD = {"listening": "owner", "downloads": "off", "visibility": "public"}


class OfTrack(ParamsModelBase):
    """The parameters of `getTrack`, as the Python client takes them."""

    track: str


async def unheard(studio: Studio) -> tuple[Artist, Artist, str, str]:
    """An artist, a listener, a track that only the artist may hear, and the DID of the service."""
    artist, listener = await studio.artist(), await studio.artist()
    _, ref = await artist.write_track("Unheard", access=UNHEARD)
    document = (await artist.ask("GET", "/.well-known/did.json")).json
    assert document["service"] == [
        {"id": name, "type": kind, "serviceEndpoint": studio.door.address}
        for name, kind in (("#fmsvc", "FmsvcAppView"), ("#mention_search", "MentionSearchService"))
    ]
    return artist, listener, ref.uri, document["id"]


async def token(account: Account, **claims: str) -> str:
    """A service token from the account's PDS."""
    answer = await account.pds.get("com.atproto.server.getServiceAuth", account.login, **claims)
    return str(answer["token"])


async def asked(studio: Studio, uri: str, bearer: str, method: str = GET_TRACK) -> Reply:
    return await studio.door.ask("GET", f"/xrpc/{method}?track={uri}", session=bearer)


@pytest.mark.slow
async def test_the_official_client_asks_as_its_user_through_the_users_server(studio: Studio) -> None:
    """Answers are the user's own; those without one are everybody's. Refusals come back as they are."""
    artist, listener, uri, did = await unheard(studio)

    def proxied(account: Account) -> dict[str, str]:
        return {**account.login, "atproto-proxy": f"{did}#fmsvc"}

    through = await call_queries(
        studio.net.pds[0].url,
        Call(GET_TRACK, {"track": uri}, proxied(artist.account)),
        Call(GET_TRACK, {"track": uri}, proxied(listener.account)),
        Call(GET_TRACK, {"track": f"{uri}x"}, proxied(artist.account)),
    )
    [directly] = await call_queries(studio.door.address, Call(GET_TRACK, {"track": uri}))

    assert [told["data"]["gated"] for told in (*through[:2], directly)] == [False, True, True]
    assert through[2] == {"status": 404, "error": "NotFound", "message": "There is no such track."}


async def test_the_python_client_asks_as_its_user_through_the_users_server(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answer as a session of this service gets."""
    artist, _, uri, did = await unheard(studio)
    monkeypatch.delenv("SSL_CERT_FILE")  # it reads whom to trust, and asks nobody of them
    client = AsyncClient(f"{studio.net.pds[0].url}/xrpc")
    try:
        await client.login(artist.account.handle, artist.account.password, fetch_bsky_profile=False)
        client.configure_proxy_header("fmsvc", did)
        told = await client.invoke_query(
            GET_TRACK, params=OfTrack(track=uri), output_encoding="application/json"
        )
    finally:
        await client.request.close()

    assert isinstance(told.content, dict)
    expected: Json = (await artist.ask("GET", f"/tracks/{told.content['id']}")).json
    assert told.content == expected
    assert not expected["gated"]


async def test_a_token_of_the_users_server_is_accepted_once(studio: Studio) -> None:
    """For this service, with or without the name of its entry, and for one method."""
    artist, _, uri, did = await unheard(studio)
    for audience in (did, f"{did}#fmsvc"):
        bearer = await token(artist.account, aud=audience, lxm=GET_TRACK)

        first, again = await asked(studio, uri, bearer), await asked(studio, uri, bearer)

        assert (first.status, first.json["gated"]) == (200, False)
        assert (again.status, again.json) == (
            401,
            {"error": "AuthenticationRequired", "message": "The service token was used before."},
        )


async def test_a_token_for_something_else_is_refused(studio: Studio) -> None:
    """Another service, another method, none, or an altered token; it is no credential of other routes."""
    artist, listener, uri, did = await unheard(studio)
    good = await token(artist.account, aud=did, lxm=GET_TRACK)
    other = await token(listener.account, aud=did, lxm=GET_TRACK)
    signature = other.rpartition(".")[2]
    wrong = {
        "is not for": await token(artist.account, aud="did:web:elsewhere.example", lxm=GET_TRACK),
        "another method": await token(artist.account, aud=did, lxm="fm.svc.getLikes"),
        "malformed": await token(artist.account, aud=did),
        "not signed": f"{good.rpartition('.')[0]}.{signature}",
    }

    for reason, bearer in wrong.items():
        reply = await asked(studio, uri, bearer)

        assert (reply.status, reply.json["error"]) == (401, "AuthenticationRequired"), reason
        assert reason in reply.json["message"]
    assert (await studio.door.ask("GET", "/tracks/me", session=good)).status == 401
    assert (await asked(studio, uri, good)).status == 200
