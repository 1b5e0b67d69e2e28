"""Likes, comments and plays: what somebody does here is what their own server then holds."""

import asyncio
from typing import NamedTuple

import pytest
import pytest_asyncio

from readapi.state.publishing.preferences import Preferences
from readapi.state.state import open_state
from schemas.collections import SCROBBLE, SCROBBLING
from schemas.ids import Did
from schemas.settings import Settings
from tests.network.pds import Json, Ref, Write
from tests.network.person import Person
from tests.readapi.studio import COLLECTIONS, MADE, Artist, Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

LIKE, COMMENT = COLLECTIONS.like, COLLECTIONS.comment


class Scene(NamedTuple):
    """A service, an artist with a track, and a listener."""

    studio: Studio
    mara: Artist
    ben: Artist
    track_id: int
    track: Ref


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(studio):
    mara, ben = await studio.artist(profile=False), await studio.artist(profile=False)
    track_id, track = await mara.write_track(duration=60)
    return Scene(studio, mara, ben, track_id, track)


async def test_a_like_is_one_record_however_often_it_is_given(scene):
    """Ten at the same time make one, which the answers of the API know of at once."""
    like = f"/tracks/{scene.track_id}/like"

    replies = await asyncio.gather(*(scene.ben.ask("POST", like) for _ in range(10)))
    [held] = await scene.ben.records(LIKE)
    shown = (await scene.ben.ask("GET", f"/tracks/{scene.track_id}")).json
    likers = (await scene.ben.ask("GET", f"/tracks/{scene.track_id}/likes")).json

    assert [(reply.status, reply.json) for reply in replies] == [(200, {"liked": True})] * 10
    assert held["subject"] == scene.track.strong
    assert (shown["is_liked"], shown["like_count"]) == (True, 1)
    assert [user["did"] for user in likers["users"]] == [scene.ben.did]
    assert likers["users"][0]["liked_at"][:19] == held["createdAt"][:19], "it claims no time of its own"
    assert not (await scene.mara.ask("GET", f"/tracks/{scene.track_id}")).json["is_liked"]

    for _ in range(2):
        gone = await scene.ben.ask("DELETE", like)
        assert (gone.status, gone.json) == (200, {"liked": False})
    assert await scene.ben.records(LIKE) == []
    assert not (await scene.ben.ask("GET", f"/tracks/{scene.track_id}")).json["is_liked"]


async def test_likes_of_other_programs_count_and_go_too(scene):
    """Nothing is written for who likes the track already, and one request takes back all."""
    record = {"subject": scene.track.strong, "createdAt": MADE}
    keys = ("3kznmn7xqxl22", "3kznmn7xqxl23")
    await scene.ben.account.apply_writes(*(Write("create", LIKE, key, record) for key in keys))
    path = f"/tracks/{scene.track_id}"
    await scene.ben.shows(path, lambda reply: reply.json["is_liked"])

    await scene.ben.ask("POST", f"{path}/like")
    assert len(await scene.ben.records(LIKE)) == 2
    await scene.ben.ask("DELETE", f"{path}/like")

    assert await scene.ben.records(LIKE) == []


async def test_a_list_tells_which_of_its_tracks_somebody_likes(scene):
    """Only those, and in the list of what they like."""
    other, _ = await scene.mara.write_track("Other")
    await scene.ben.ask("POST", f"/tracks/{other}/like")

    listed = (await scene.ben.ask("GET", f"/tracks/?artist_did={scene.mara.did}")).json["tracks"]
    liked = (await scene.ben.ask("GET", "/tracks/liked")).json

    assert {track["title"]: track["is_liked"] for track in listed} == {"Song": False, "Other": True}
    assert [track["title"] for track in liked["tracks"]] == ["Other"]
    assert liked["total"] == 1
    for query, total in (("q=oth", 1), ("q=song", 0), ("sort=popular", 1)):
        assert (await scene.ben.ask("GET", f"/tracks/liked?{query}")).json["total"] == total
    await scene.ben.ask("DELETE", f"/tracks/{other}/like")


async def test_a_comment_is_written_changed_and_taken_away(scene):
    """Each time the record says what the answer says."""
    comments = f"/tracks/{scene.track_id}/comments"

    said = await scene.ben.ask("POST", comments, {"text": "Oh!", "timestamp_ms": 1500})
    [held] = await scene.ben.records(COMMENT)
    assert (said.status, said.json["text"], said.json["timestamp_ms"]) == (200, "Oh!", 1500)
    assert (held["text"], held["timestampMs"], held["subject"]) == ("Oh!", 1500, scene.track.strong)
    assert said.json["user_handle"] == scene.ben.account.handle
    assert (await scene.ben.ask("GET", comments)).json["comments"] == [said.json]

    one = f"/tracks/comments/{said.json['id']}"
    changed = await scene.ben.ask("PATCH", one, {"text": "Ah."})
    [held] = await scene.ben.records(COMMENT)
    assert (changed.json["text"], changed.json["timestamp_ms"]) == ("Ah.", 1500)
    assert (held["text"], held["timestampMs"]) == ("Ah.", 1500)
    assert (await scene.ben.ask("GET", comments)).json["comments"] == [changed.json]

    late = await scene.ben.ask("PATCH", one, {"timestamp_ms": 61_001})
    assert (late.status, late.json["errors"][0]["field"]) == (422, "timestamp_ms")
    foreign = await scene.mara.ask("PATCH", one, {"text": "No."})
    refused = await scene.mara.ask("DELETE", one)
    for reply in (foreign, refused):
        assert (reply.status, reply.json["detail"]) == (403, "not_owner")
    assert (await scene.ben.ask("PATCH", one, {})).status == 422
    gone = await scene.ben.ask("DELETE", one)
    assert (gone.status, gone.json) == (200, {"deleted": True})
    assert await scene.ben.records(COMMENT) == []
    assert (await scene.ben.ask("DELETE", one)).status == 404


async def test_nobody_comments_more_often_than_the_setting_says(scene):
    """Also under a race: three of eight are written."""
    comments = f"/tracks/{scene.track_id}/comments"

    sent = [scene.ben.ask("POST", comments, {"text": f"{n}", "timestamp_ms": n}) for n in range(8)]
    replies = await asyncio.gather(*sent)

    assert sorted(reply.status for reply in replies) == [200] * 3 + [409] * 5
    assert {reply.json["detail"] for reply in replies if reply.status == 409} == {"conflict"}
    assert len(await scene.ben.records(COMMENT)) == 3
    for reply in replies:
        if reply.status == 200:
            await scene.ben.ask("DELETE", f"/tracks/comments/{reply.json['id']}")


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"text": "", "timestamp_ms": 0}, "text"),
        ({"text": "x" * 1001, "timestamp_ms": 0}, "text"),
        ({"text": "x"}, "timestamp_ms"),
        ({"text": "x", "timestamp_ms": -1}, "timestamp_ms"),
        ({"text": "x", "timestamp_ms": 604_800_001}, "timestamp_ms"),
        ({"text": "x", "timestamp_ms": False}, "timestamp_ms"),
        ({"text": "x", "timestamp_ms": 61_001}, "timestamp_ms"),
    ],
)
async def test_what_the_lexicon_forbids_is_refused_by_name(scene, sent, field):
    """And what lies after the track's end, which is at 60 seconds; nothing is written."""
    reply = await scene.ben.ask("POST", f"/tracks/{scene.track_id}/comments", sent)

    assert (reply.status, reply.json["detail"]) == (422, "invalid_request")
    assert [error["field"] for error in reply.json["errors"]] == [field]
    assert await scene.ben.records(COMMENT) == []


async def test_nobody_reacts_to_what_they_may_not_know_of(scene):
    """A private track of somebody else is not there; its artist may."""
    private = {"access": {"listening": "owner", "downloads": "off", "visibility": "private"}}
    hidden, _ = await scene.mara.write_track("Hidden", **private)

    for method, path, sent in (
        ("POST", "like", None),
        ("DELETE", "like", None),
        ("POST", "comments", {"text": "x", "timestamp_ms": 0}),
        ("POST", "play", None),
    ):
        reply = await scene.ben.ask(method, f"/tracks/{hidden}/{path}", sent)
        assert (reply.status, reply.json["detail"]) == (404, "not_found")
    own = await scene.mara.ask("POST", f"/tracks/{hidden}/comments", {"text": "x", "timestamp_ms": 0})
    one = f"/tracks/comments/{own.json['id']}"
    assert (await scene.ben.ask("DELETE", one)).status == 404
    assert (await scene.mara.ask("DELETE", one)).status == 200


async def test_a_grant_that_does_not_allow_it_is_told_so(scene):
    """403 before anything is asked of their server."""
    ida = await scene.studio.artist(profile=False, granting=f"atproto repo:{LIKE}")

    said = await ida.ask("POST", f"/tracks/{scene.track_id}/comments", {"text": "x", "timestamp_ms": 0})
    liked = await ida.ask("POST", f"/tracks/{scene.track_id}/like")

    assert (said.status, said.json["detail"]) == (403, "scope_upgrade_required")
    assert liked.status == 200


async def test_a_server_that_refuses_or_is_gone_changes_nothing(scene):
    """Its own words are passed on; and no like is shown that nobody holds."""
    ida, path = await scene.studio.artist(profile=False), f"/tracks/{scene.track_id}"
    before = (await scene.ben.ask("GET", path)).json["like_count"]

    await ida.account.deactivate()
    refused = await ida.ask("POST", f"{path}/comments", {"text": "x", "timestamp_ms": 0})
    await ida.account.activate()
    async with scene.studio.net.pds[0].hung_up():
        gone = await ida.ask("POST", f"{path}/like")

    assert (refused.status, refused.json["detail"]) == (502, "pds_refused")
    assert refused.json["upstream"]["error"] == "AccountDeactivated"
    assert (gone.status, gone.json["detail"]) == (502, "pds_unavailable")
    assert await ida.records(LIKE) == await ida.records(COMMENT) == []
    assert (await scene.ben.ask("GET", path)).json["like_count"] == before


async def test_a_play_counts_once_for_each_listener(scene):
    """Repetitions do not; whoever has no account is known by their address."""
    track_id, track = await scene.mara.write_track("Played", duration=60)
    path = f"/tracks/{track_id}/play"

    replies = [await artist.ask("POST", path) for artist in (scene.ben, scene.ben, scene.mara)]
    nameless = [await scene.studio.door.ask("POST", path) for _ in range(2)]
    shown = await scene.ben.shows(f"/tracks/{track_id}", lambda reply: reply.json["play_count"] == 3)

    assert [reply.json["play_count"] for reply in (*replies, *nameless)] == [1, 1, 2, 3, 3]
    assert shown["uri"] == track.uri


async def test_a_play_is_scrobbled_for_who_wants_it_and_granted_it(scene):
    """One record for each play that counts; none without the grant, the wish, or the play."""
    ida = await scene.studio.artist(profile=False)
    played = [(await scene.mara.write_track(f"Scrobble {n}", duration=200))[0] for n in range(3)]

    async def play(number: int) -> list[Json]:
        reply = await ida.ask("POST", f"/tracks/{played[number]}/play")
        assert reply.status == 200
        return await ida.records(SCROBBLE)

    async with open_state(Settings(data_dir=scene.studio.data_dir)) as state:
        await state.preferences.change(Did(ida.did), lambda _: Preferences(scrobbling=True))
        not_granted = await play(0)
        started = await ida.ask("POST", "/auth/scope-upgrade/start", {"scopes": [SCROBBLING]})
        token = await ida.door.arrive(Person(ida.account), started.json["auth_url"])
        await ida.door.exchange(token, ida.session)
        [held] = await play(1)
        again = await play(1)
        await state.preferences.change(Did(ida.did), lambda _: Preferences(scrobbling=False))
        not_wanted = await play(2)

    assert not_granted == []
    assert (held["trackName"], held["duration"]) == ("Scrobble 1", 200)
    assert held["originUri"] == (await ida.ask("GET", f"/tracks/{played[1]}")).json["uri"]
    assert again == not_wanted == [held]
