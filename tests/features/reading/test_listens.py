"""Scrobblers send what was heard as to ListenBrainz, and others see who is listening: by liblistenbrainz."""

import asyncio
import time
from typing import Any

import liblistenbrainz
import pytest
import pytest_asyncio
from liblistenbrainz.errors import InvalidAuthTokenException, ListenBrainzAPIException
from liblistenbrainz.listen import Listen

from schemas.collections import SCROBBLE, SCROBBLING
from tests.network.person import Person
from tests.readapi.studio import Artist, Studio, template

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

UNLISTED = {"listening": "public", "downloads": "open", "visibility": "unlisted"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def listener(studio: Studio) -> Artist:
    """Somebody who granted scrobbling, turned it on, and shows what is playing."""
    artist = await studio.artist(profile=False)
    started = await artist.ask("POST", "/auth/scope-upgrade/start", {"scopes": [SCROBBLING]})
    person = Person(artist.account)
    code = await studio.door.arrive(person, started.json["auth_url"])
    assert (await studio.door.exchange(code, artist.session)).status == 200
    await prefer(artist, scrobbling=True, show_playing=True)
    return artist


async def prefer(artist: Artist, **chosen: bool) -> dict[str, Any]:
    """Change the preferences; returns them."""
    changed = await artist.ask("PUT", "/preferences/", {"publishing_defaults": template(), **chosen})
    assert changed.status == 200, changed.json
    return dict(changed.json)


async def client_of(studio: Studio, artist: Artist) -> liblistenbrainz.ListenBrainz:
    """The client, with a developer token that it has found valid."""
    token = await studio.door.make_token(Person(artist.account), artist.session, "scrobbler")
    client = liblistenbrainz.ListenBrainz(studio.door.address)
    await asyncio.to_thread(client.set_auth_token, token)
    return client


async def scrobbles(artist: Artist) -> list[dict[str, Any]]:
    """The records in the account's repo."""
    asked = {"repo": artist.did, "collection": SCROBBLE}
    found = await artist.account.pds.get("com.atproto.repo.listRecords", artist.account.login, **asked)
    return [one["value"] for one in found["records"]]


async def test_listens_become_records_once_and_are_read_back(studio: Studio, listener: Artist) -> None:
    """Sent again, imported again, and refused in the future."""
    client, now = await client_of(studio, listener), int(time.time())
    single = Listen(
        "Water", "Ada", listened_at=now - 60, release_name="Sea", additional_info={"duration_ms": 61000}
    )
    old = [Listen(f"Old {n}", "Ada", listened_at=1_600_000_000 + n) for n in range(5)]
    for _ in range(2):
        assert await asyncio.to_thread(client.submit_single_listen, single) == {"status": "ok"}
        await asyncio.to_thread(client.submit_multiple_listens, old)

    found = await scrobbles(listener)
    assert sorted(one["trackName"] for one in found) == ["Old 0", "Old 1", "Old 2", "Old 3", "Old 4", "Water"]
    [water] = [one for one in found if one["trackName"] == "Water"]
    assert (water["artists"], water["releaseName"], water["duration"]) == ([{"artistName": "Ada"}], "Sea", 61)
    heard = await asyncio.to_thread(client.get_listens, listener.account.handle)
    assert [one.track_name for one in heard][:2] == ["Water", "Old 4"]
    assert heard[0].listened_at == now - 60
    with pytest.raises(ListenBrainzAPIException):
        await asyncio.to_thread(
            client.submit_single_listen, Listen("Tomorrow", "Ada", listened_at=now + 86_400)
        )


async def test_what_is_playing_is_told_until_it_was_heard(studio: Studio, listener: Artist) -> None:
    """Of accounts that turned it on; a listen of a track of this service counts as a play."""
    musician = await studio.artist()
    number, ref = await musician.write_track("Slow Water")
    client, name = await client_of(studio, listener), listener.account.handle
    here = {"origin_url": f"{studio.door.address}/track/{number}", "duration_ms": 200_000}
    listen = Listen("Slow Water", "Musician", additional_info=dict(here))
    await asyncio.to_thread(client.submit_playing_now, listen)

    playing = await asyncio.to_thread(client.get_playing_now, name)
    assert (playing.track_name, playing.artist_name) == ("Slow Water", "Musician")
    told = (await listener.door.ask("GET", "/playing-now")).json["listeners"]
    assert [(one["did"], one["track"]["id"]) for one in told] == [(listener.did, number)]
    heard = Listen("Slow Water", "Musician", listened_at=int(time.time()), additional_info=dict(here))
    await asyncio.to_thread(client.submit_single_listen, heard)
    assert (await listener.door.ask("GET", "/playing-now")).json["listeners"] == []
    assert await asyncio.to_thread(client.get_playing_now, name) is None
    [record] = [one for one in await scrobbles(listener) if one["trackName"] == "Slow Water"]
    assert record["originUri"] == ref.uri
    await musician.shows(f"/tracks/{number}", lambda reply: reply.json.get("play_count") == 1)


async def test_what_is_not_public_is_told_to_nobody(studio: Studio, listener: Artist) -> None:
    """Neither by a player nor in the account's repo, nor after the track was hidden while it was heard."""
    number, ref = await listener.write_track("Unreleased", access=UNLISTED)
    shown, shown_ref = await listener.write_track("Released")
    await listener.track(number)
    await listener.track(shown)
    name = listener.account.handle
    token = await studio.door.make_token(Person(listener.account), listener.session, "player")

    async def plays(track: int) -> Any:
        asked = f"/rest/scrobble?apiKey={token}&c=test&v=1.16.1&f=json&id=tr-{track}&submission=false"
        assert (await listener.door.ask("GET", asked)).json["subsonic-response"]["status"] == "ok"
        assert (await listener.ask("POST", f"/tracks/{track}/play")).status == 200
        reply = await listener.door.ask("GET", f"/1/user/{name}/playing-now")
        return [one["track_metadata"]["track_name"] for one in reply.json["payload"]["listens"]]

    assert await plays(number) == []
    assert await plays(shown) == ["Released"]
    told = [one.get("originUri") for one in await scrobbles(listener)]
    assert (ref.uri in told, shown_ref.uri in told) == (False, True)


async def test_a_name_that_is_no_handle_is_asked_nowhere(studio: Studio) -> None:
    """It would choose the host, the port and the path that are asked."""
    for name in ("127.0.0.1:8443%2Fadmin%3Fdo=1%23", "victim.example:8443%2Fx%3F%23", "a%20b", "x" * 300):
        for kind in ("playing-now", "listens"):
            assert (await studio.door.ask("GET", f"/1/user/{name}/{kind}")).status == 404, name


async def test_a_record_that_makes_no_sense_hides_no_other(studio: Studio, listener: Artist) -> None:
    """Whichever program wrote it."""
    play = {"trackName": "Water", "artists": [{"artistName": "Ada"}], "playedTime": "2026-01-02T03:04:05Z"}
    for wrong in ({"artists": 5}, {"duration": (1 << 53) - 1}, {"playedTime": "soon"}, {"trackName": 1}):
        await listener.account.create_record(SCROBBLE, {**play, "releaseName": str(wrong), **wrong})

    told = await listener.door.ask("GET", f"/1/user/{listener.account.handle}/listens?count=100")

    assert told.status == 200
    [odd] = [
        one
        for one in told.json["payload"]["listens"]
        if "release_name" in one["track_metadata"] and "duration" in one["track_metadata"]["release_name"]
    ]
    assert "duration_ms" not in odd["track_metadata"]["additional_info"]


async def test_what_is_playing_is_shown_without_scrobbling_until_that_is_turned_off(studio: Studio) -> None:
    """At once, and nothing is kept then. No record is written; a listen that is refused ends it too."""
    artist = await studio.artist(profile=False)
    client, name = await client_of(studio, artist), artist.account.handle
    water = Listen("Water", "Ada")

    async def shown(*, anew: bool) -> str | None:
        if anew:
            await asyncio.to_thread(client.submit_playing_now, water)
        playing = await asyncio.to_thread(client.get_playing_now, name)
        return playing and playing.track_name

    assert (await prefer(artist, scrobbling=False, show_playing=True))["show_playing"]
    assert await shown(anew=True) == "Water"
    assert (await prefer(artist, scrobbling=False))["show_playing"], "absent, it stays"
    assert await shown(anew=False) == "Water"
    await prefer(artist, scrobbling=False, show_playing=False)
    assert (await shown(anew=False), await shown(anew=True)) == (None, None)
    await prefer(artist, scrobbling=False, show_playing=True)
    assert (await shown(anew=False), await shown(anew=True)) == (None, "Water")
    with pytest.raises(ListenBrainzAPIException):
        await asyncio.to_thread(
            client.submit_single_listen, Listen("Water", "Ada", listened_at=int(time.time()))
        )
    assert await shown(anew=False) is None
    assert await scrobbles(artist) == []


async def test_scrobbling_alone_shows_nobody_what_is_playing(studio: Studio, listener: Artist) -> None:
    """Records are written, and others are told nothing."""
    client = await client_of(studio, listener)
    await prefer(listener, scrobbling=True, show_playing=False)

    await asyncio.to_thread(client.submit_playing_now, Listen("Quiet Water", "Ada"))
    playing = await asyncio.to_thread(client.get_playing_now, listener.account.handle)
    heard = Listen("Quiet Water", "Ada", listened_at=int(time.time()) - 600)
    await asyncio.to_thread(client.submit_single_listen, heard)
    await prefer(listener, scrobbling=True, show_playing=True)

    assert playing is None
    assert "Quiet Water" in [one["trackName"] for one in await scrobbles(listener)]


async def test_nothing_is_kept_of_an_account_that_did_not_turn_it_on(studio: Studio) -> None:
    """It is told how; and a token that is none is told to be none."""
    quiet = await studio.artist(profile=False)
    client = await client_of(studio, quiet)
    await asyncio.to_thread(client.submit_playing_now, Listen("Water", "Ada"))
    assert await asyncio.to_thread(client.get_playing_now, quiet.account.handle) is None
    with pytest.raises(ListenBrainzAPIException) as refused:
        await asyncio.to_thread(
            client.submit_single_listen, Listen("Water", "Ada", listened_at=1_700_000_000)
        )
    assert refused.value.status_code == 403
    assert await scrobbles(quiet) == []
    with pytest.raises(InvalidAuthTokenException):
        await asyncio.to_thread(
            liblistenbrainz.ListenBrainz(studio.door.address).set_auth_token, "fmsvc_none"
        )
