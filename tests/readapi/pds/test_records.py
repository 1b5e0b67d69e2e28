"""Playlists, albums, profiles and tracks: what somebody does here is what their own server then holds."""

from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
import pytest_asyncio

from schemas.api.playlists import Recommendations
from schemas.datetimes import parse_datetime
from schemas.ids import AtUri
from tests.network.pds import Ref
from tests.readapi.studio import COLLECTIONS, Artist, Studio

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

LIST, PROFILE, TRACK = COLLECTIONS.list, COLLECTIONS.profile, COLLECTIONS.track
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
OWNER_ONLY = {
    "access": {"listening": "owner", "downloads": "off", "visibility": "unlisted"},
    "attach_rights": False,
}


class Scene(NamedTuple):
    """A service, an artist with three tracks, and somebody else."""

    studio: Studio
    mara: Artist
    ben: Artist
    tracks: list[tuple[int, Ref]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(studio):
    mara, ben = await studio.artist(profile=False), await studio.artist(profile=False)
    tracks = [await mara.write_track(f"Song {n}", tags=["ambient"]) for n in range(3)]
    return Scene(studio, mara, ben, tracks)


async def playlist(scene: Scene, name: str, tracks: int = 0) -> Any:
    """A playlist of Ben's with so many of Mara's tracks."""
    made = await scene.ben.ask("POST", "/lists/playlists", {"name": name})
    assert made.status == 200, made.json
    for _, track in scene.tracks[:tracks]:
        sent = {"track_uri": track.uri, "track_cid": track.cid}
        added = await scene.ben.ask("POST", f"/lists/playlists/{made.json['id']}/tracks", sent)
        assert added.status == 200, added.json
    return made.json


def subjects(value: Any) -> list[str]:
    """The tracks that a list record holds, in order."""
    return [item["subject"]["uri"] for item in value["items"]]


@pytest.mark.slow
async def test_a_playlist_is_made_filled_and_put_in_order(scene):
    """Each track is in it once; the record's order is the list's; what the record says besides stays."""
    made = await playlist(scene, "Evening", 3)
    one, uris = f"/lists/playlists/{made['id']}", [track.uri for _, track in scene.tracks]
    sent = {"track_uri": uris[0], "track_cid": scene.tracks[0][1].cid}
    assert (await scene.ben.ask("POST", f"{one}/tracks", sent)).json["track_count"] == 3
    filled = await scene.ben.record(made["atproto_record_uri"])
    assert (made["name"], made["track_count"], made["owner_did"]) == ("Evening", 0, scene.ben.did)
    assert (filled["name"], filled["listType"], subjects(filled)) == ("Evening", "playlist", uris)

    rkey = AtUri.parse(made["atproto_record_uri"]).rkey
    filled["items"][0]["note"], filled["mood"] = "the first", "late"
    await scene.ben.account.put_record(LIST, rkey, filled)
    order = [{"uri": track.uri, "cid": track.cid} for _, track in reversed(scene.tracks)]
    sorted_ = await scene.ben.ask("PUT", f"{one}/reorder", {"items": order})
    reordered = await scene.ben.record(made["atproto_record_uri"])
    shown = (await scene.ben.ask("GET", one)).json

    assert sorted_.status == 200
    assert subjects(reordered) == uris[::-1] == [track["uri"] for track in shown["tracks"]]
    assert (reordered["items"][2]["note"], reordered["mood"]) == ("the first", "late")

    taken = await scene.ben.ask("DELETE", f"{one}/tracks/{quote(uris[1], safe='')}")
    again = await scene.ben.ask("DELETE", f"{one}/tracks/{quote(uris[1], safe='')}")
    stale = await scene.ben.ask("PUT", f"{one}/reorder", {"items": order})
    assert (taken.status, taken.json["track_count"]) == (200, 2)
    assert subjects(await scene.ben.record(made["atproto_record_uri"])) == [uris[2], uris[0]]
    assert (again.status, stale.status, stale.json["detail"]) == (404, 409, "conflict")


@pytest.mark.slow
async def test_a_new_playlist_is_on_the_profile_only_if_asked_for(scene):
    """Its owner finds it all the same."""
    of_ben = f"/lists/playlists/by-artist/{scene.ben.did}"

    for name, asked in (("Drafts", {}), ("Shown", {"show_on_profile": True})):
        made = await scene.ben.ask("POST", "/lists/playlists", {"name": name, **asked})
        assert (made.status, made.json["show_on_profile"]) == (200, name == "Shown")

    mine = {listed["name"] for listed in (await scene.ben.ask("GET", of_ben)).json}
    theirs = {listed["name"] for listed in (await scene.mara.ask("GET", of_ben)).json}
    assert {"Drafts", "Shown"} <= mine
    assert {"Drafts", "Shown"} & theirs == {"Shown"}


async def test_a_playlist_is_renamed_hidden_and_deleted(scene):
    """Forms do too. A hidden one is left out of what others are shown of its owner."""
    made = await playlist(scene, "Hidden soon")
    one, of_ben = f"/lists/playlists/{made['id']}", f"/lists/playlists/by-artist/{scene.ben.did}"
    assert (await scene.ben.send("PATCH", one, show_on_profile="true")).json["show_on_profile"]

    renamed = await scene.ben.send("PATCH", one, name="Quiet", show_on_profile="false")
    mine = (await scene.ben.ask("GET", "/lists/playlists")).json
    theirs = (await scene.mara.ask("GET", of_ben)).json
    nameless = (await scene.studio.door.ask("GET", of_ben)).json

    assert (renamed.json["name"], renamed.json["show_on_profile"]) == ("Quiet", False)
    assert (await scene.ben.record(made["atproto_record_uri"]))["name"] == "Quiet"
    assert "Quiet" in [listed["name"] for listed in mine]
    assert "Quiet" not in [listed["name"] for listed in [*theirs, *nameless]]
    gone = await scene.ben.ask("DELETE", one)
    assert gone.json == {"deleted": True}
    assert not await scene.ben.has_record(made["atproto_record_uri"])
    assert (await scene.ben.ask("GET", one)).status == 404


async def test_recommendations_are_like_what_a_playlist_holds(scene):
    """The same artist's tracks that it does not hold; none for an empty one."""
    empty, filled = await playlist(scene, "Empty"), await playlist(scene, "Filled", 1)

    none = await scene.ben.ask("GET", f"/lists/playlists/{empty['id']}/recommendations")
    some = await scene.ben.ask("GET", f"/lists/playlists/{filled['id']}/recommendations")

    assert none.json == {"tracks": [], "available": False}
    assert some.json["available"]
    Recommendations.model_validate(some.json, strict=True)
    assert {track["artist_display_name"] for track in some.json["tracks"]} == {
        track["artist"] for track in some.json["tracks"]
    }
    titles = {track["title"] for track in some.json["tracks"]}
    assert {"Song 1", "Song 2"} <= titles
    assert "Song 0" not in titles


async def test_nobody_changes_a_list_of_somebody_else(scene):
    """403, and it is as it was."""
    made = await playlist(scene, "Mine", 1)
    one, (_, track) = f"/lists/playlists/{made['id']}", scene.tracks[0]
    before = await scene.ben.record(made["atproto_record_uri"])

    for method, path, sent in (
        ("PATCH", one, {"name": "Yours"}),
        ("DELETE", one, None),
        ("POST", f"{one}/tracks", {"track_uri": track.uri, "track_cid": track.cid}),
        ("DELETE", f"{one}/tracks/{quote(track.uri, safe='')}", None),
        ("PUT", f"{one}/reorder", {"items": []}),
        ("GET", f"{one}/recommendations", None),
    ):
        reply = await scene.mara.ask(method, path, sent)
        assert (reply.status, reply.json["detail"]) == (403, "not_owner")
    assert await scene.ben.record(made["atproto_record_uri"]) == before


@pytest.mark.parametrize(
    ("method", "path", "sent", "field"),
    [
        ("POST", "/lists/playlists", {"name": " "}, "name"),
        ("POST", "/lists/playlists", {"name": "x" * 257}, "name"),
        ("POST", "/lists/playlists", {}, "name"),
        ("POST", "/albums/", {"title": "x" * 257}, "title"),
        ("POST", "/albums/", {"title": "x", "description": "x" * 5001}, "description"),
        ("POST", "/albums/", {"title": "One", "slug": "two"}, "slug"),
        ("PUT", "/artists/me", {"display_name": "x" * 65}, "display_name"),
        ("PUT", "/artists/me", {"support_url": "javascript:alert(1)"}, "support_url"),
    ],
)
async def test_what_the_lexicon_forbids_is_refused_by_name(scene, method, path, sent, field):
    """Before anything is written."""
    reply = await scene.mara.ask(method, path, sent)

    assert (reply.status, reply.json["detail"]) == (422, "invalid_request")
    assert reply.json["errors"][0]["field"].startswith(field)
    assert await scene.mara.records(LIST) == await scene.mara.records(PROFILE) == []


async def test_an_album_is_made_changed_and_deleted(scene):
    """Its template is for its artist's eyes only, and never private."""
    ida = await scene.studio.artist(profile=False)
    sent = {"title": "First Light", "description": "The first.", "publishing_defaults": OWNER_ONLY}
    made = await ida.ask("POST", "/albums/", sent)
    one = f"/albums/{made.json['id']}"
    by_id = f"/albums/by-id/{made.json['id']}"
    record = await ida.record(made.json["uri"])

    assert (made.json["title"], made.json["slug"]) == ("First Light", "first-light")
    written = {"name": "First Light", "listType": "album", "description": "The first."}
    assert record.items() >= written.items()
    assert made.json["publishing_defaults"] == OWNER_ONLY
    assert (await ida.ask("GET", by_id)).json["metadata"]["publishing_defaults"] == OWNER_ONLY
    assert "publishing_defaults" not in (await scene.ben.ask("GET", by_id)).json["metadata"]

    taken = await ida.ask("POST", "/albums/", {"title": "First  light!"})
    private = {**OWNER_ONLY, "access": {**OWNER_ONLY["access"], "visibility": "private"}}
    hidden = await ida.ask("PATCH", one, {"title": "Hidden", "publishing_defaults": private})
    foreign = await scene.ben.ask("PATCH", one, {"title": "Theirs"})
    assert (taken.status, taken.json["detail"]) == (409, "conflict")
    assert (hidden.status, hidden.json["detail"]) == (400, "private_album")
    assert (foreign.status, foreign.json["detail"]) == (403, "not_owner")
    assert len(await ida.records(LIST)) == 1

    changed = await ida.ask("PATCH", one, {"title": "Dawn", "description": "", "publishing_defaults": None})
    record = await ida.record(made.json["uri"])
    told = {"title": "Dawn", "slug": "dawn", "description": None, "publishing_defaults": None}
    assert changed.json.items() >= told.items()
    assert (record["name"], "description" in record) == ("Dawn", False)
    gone = await ida.ask("DELETE", one)
    assert gone.json == {"deleted": True}
    assert await ida.records(LIST) == []


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"access": {**OWNER_ONLY["access"], "listening": "supporters"}}, "audience_unavailable"),
        ({"access": {**OWNER_ONLY["access"], "downloads": "supporters"}}, "audience_unavailable"),
        ({"attach_rights": True}, "invalid_request"),
    ],
)
async def test_an_albums_template_that_cannot_apply_is_refused(scene, changed, detail):
    """As one of the Portal is: when it is made, and when it is changed; nothing is written."""
    ida = await scene.studio.artist(profile=False)
    template = {"publishing_defaults": {**OWNER_ONLY, **changed}}
    kept = (await ida.ask("POST", "/albums/", {"title": "Kept"})).json

    made = await ida.ask("POST", "/albums/", {"title": "Refused", **template})
    put = await ida.ask("PATCH", f"/albums/{kept['id']}", {"title": "Refused", **template})

    for refused in (made, put):
        assert (refused.status, refused.json["detail"]) == (422, detail)
    assert [record["name"] for record in await ida.records(LIST)] == ["Kept"]


async def test_a_cover_is_told_by_its_content(scene):
    """A picture becomes a blob of the record; whatever else is refused, and so is one that is too large."""
    ida = await scene.studio.artist(profile=False)
    made = (await ida.ask("POST", "/albums/", {"title": "Covered"})).json
    path = f"/albums/{made['id']}/cover"

    text = await ida.send("POST", path, image=b"no picture at all")
    large = await ida.send("POST", path, image=PNG + bytes(100_000))
    none = await ida.send("POST", path, image="words")
    assert (text.status, text.json["errors"][0]["field"]) == (422, "image")
    assert (large.status, large.json["detail"]) == (413, "too_large")
    assert (none.status, none.json["errors"][0]["field"]) == (422, "image")
    assert "image" not in await ida.record(made["uri"])

    put = await ida.send("POST", path, image=PNG)
    image = (await ida.record(made["uri"]))["image"]
    assert put.status == 200
    assert (image["mimeType"], image["size"]) == ("image/png", len(PNG))
    assert image["ref"]["$link"] in put.json["image_url"]


async def test_a_profile_is_written_field_by_field(scene):
    """What is not given stays, unknown fields too; null and nothing clear."""
    ida = await scene.studio.artist(profile=False)
    nobody = (await ida.ask("GET", "/artists/me")).json
    profile = f"at://{ida.did}/{PROFILE}/self"
    first = {"display_name": "Ida", "bio": "Songs.", "support_url": "https://ida.example/give"}

    made = await ida.ask("PUT", "/artists/me", first)
    record = await ida.record(profile)
    await ida.account.put_record(PROFILE, "self", {**record, "pronouns": "she"})
    sent = {"bio": None, "support_url": "", "show_liked_on_profile": True}
    changed = await ida.ask("PUT", "/artists/me", sent)
    record = await ida.record(profile)
    public = (await scene.studio.door.ask("GET", f"/artists/{ida.did}")).json

    assert (nobody["did"], nobody["handle"], nobody["bio"]) == (ida.did, ida.account.handle, None)
    assert {name: made.json[name] for name in first} == first
    assert record.keys() == {"$type", "createdAt", "updatedAt", "displayName", "pronouns"}
    assert changed.json == public
    assert (public["display_name"], public["bio"], public["support_url"]) == ("Ida", None, None)
    assert public["show_liked_on_profile"]


async def test_changing_a_track_keeps_what_is_not_named(scene):
    """Audio, unknown fields and access stay as they are; empty texts clear; names become DIDs."""
    audio = await scene.mara.account.upload_blob(b"ID3" + bytes(500), "audio/mpeg")
    fields = {"description": "Old", "album": "Old", "audioBlob": audio, "mood": "blue", "tags": ["a", "b"]}
    track_id, ref = await scene.mara.write_track("Before", **fields)
    before = await scene.mara.record(ref.uri)

    sent = {"title": "After", "description": "", "features": [scene.ben.account.handle, scene.mara.did]}
    changed = await scene.mara.ask("PATCH", f"/tracks/{track_id}", sent)
    after = await scene.mara.record(ref.uri)
    featured = [{"did": scene.ben.did}, {"did": scene.mara.did}]
    assert changed.status == 200, changed.json
    assert (changed.json["title"], changed.json["description"]) == ("After", None)
    assert [feature["did"] for feature in changed.json["features"]] == [scene.ben.did, scene.mara.did]
    assert after.pop("features") == featured
    edited_at = after.pop("updatedAt")
    assert edited_at > before["createdAt"]
    assert parse_datetime(changed.json["updated_at"]) == parse_datetime(edited_at)
    assert after == {name: value for name, value in before.items() if name != "description"} | {
        "title": "After"
    }

    pictured = await scene.mara.send("PATCH", f"/tracks/{track_id}", image=PNG, tags='["x"]')
    record = await scene.mara.record(ref.uri)
    assert (pictured.status, record["tags"], record["image"]["mimeType"]) == (200, ["x"], "image/png")
    assert record["updatedAt"] > edited_at
    bare = await scene.mara.ask("PATCH", f"/tracks/{track_id}", {"remove_image": True, "tags": []})
    record = await scene.mara.record(ref.uri)
    assert (bare.json["image_url"], bare.json["tags"]) == (None, [])
    assert not {"image", "tags"} & record.keys()
    assert record["audioBlob"] == audio
    again = await scene.mara.ask("PATCH", f"/tracks/{track_id}", {"title": "After"})
    assert again.json["updated_at"] == bare.json["updated_at"]


async def test_naming_another_album_moves_a_track(scene):
    """Both albums' lists change with the track; an album that is not there is made; "" takes it off."""
    ida = await scene.studio.artist()
    track_id, ref = await ida.write_track("Wanderer", album="First")
    first = await ida.ask("POST", "/albums/", {"title": "First"})
    items = [{"subject": {"uri": ref.uri, "cid": ref.cid}}]
    album = AtUri.parse(first.json["uri"])
    listed = await ida.record(str(album))
    await ida.account.put_record(album.collection, album.rkey, {**listed, "items": items})
    await ida.shows(f"/tracks/{track_id}", lambda reply: reply.json["album"] is not None)

    moved = await ida.ask("PATCH", f"/tracks/{track_id}", {"album": "Second"})
    left = await ida.ask("PATCH", f"/tracks/{track_id}", {"album": ""})

    assert (moved.status, moved.json["album"]["title"]) == (200, "Second")
    assert left.json["updated_at"] > moved.json["updated_at"]
    assert (await ida.record(first.json["uri"]))["items"] == []
    assert (left.status, left.json["album"]) == (200, None)
    assert "album" not in await ida.record(ref.uri)
    for album in ("first", "second"):
        shown = await ida.ask("GET", f"/albums/{ida.account.handle}/{album}")
        assert (shown.status, shown.json["tracks"]) == (200, [])


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"publishing": OWNER_ONLY}, "publishing"),
        ({"access": OWNER_ONLY["access"]}, "access"),
        ({"unlisted": True}, "unlisted"),
        ({"title": ""}, "title"),
        ({"tags": ["x"] * 11}, "tags"),
        ({"tags": ["x" * 51]}, "tags"),
        ({"features": ["nobody-at-all.test"]}, "features"),
        ({"image": "text"}, "image"),
    ],
)
async def test_what_may_not_be_changed_so_is_refused(scene, sent, field):
    """Access among it; the record stays."""
    track_id, ref = scene.tracks[0]
    before = await scene.mara.record(ref.uri)

    reply = await scene.mara.ask("PATCH", f"/tracks/{track_id}", sent)

    assert (reply.status, reply.json["detail"]) == (422, "invalid_request")
    assert reply.json["errors"][0]["field"].startswith(field)
    assert await scene.mara.record(ref.uri) == before


async def test_a_track_is_its_artists_to_change(scene):
    """Others are told that it is not theirs, or that it is not there."""
    private = {"access": {"listening": "owner", "downloads": "off", "visibility": "private"}}
    hidden, _ = await scene.mara.write_track("Hidden", **private)
    track_id, ref = scene.tracks[0]

    for method, sent in (("PATCH", {"title": "Theirs"}), ("DELETE", None)):
        seen = await scene.ben.ask(method, f"/tracks/{track_id}", sent)
        unseen = await scene.ben.ask(method, f"/tracks/{hidden}", sent)
        assert (seen.status, seen.json["detail"]) == (403, "not_owner")
        assert (unseen.status, unseen.json["detail"]) == (404, "not_found")
    assert (await scene.mara.record(ref.uri))["title"] == "Song 0"


async def test_a_deleted_track_is_gone(scene):
    """Here and there."""
    track_id, ref = await scene.mara.write_track("Short-lived")

    gone = await scene.mara.ask("DELETE", f"/tracks/{track_id}")

    assert (gone.status, gone.json) == (200, {"message": "The track is deleted."})
    assert not await scene.mara.has_record(ref.uri)
    assert (await scene.mara.ask("GET", f"/tracks/{track_id}")).status == 404


async def test_own_tracks_are_listed_with_those_that_nobody_else_sees(scene):
    """Page by page, by words, by popularity; the total is of all that match."""
    ida = await scene.studio.artist(profile=False)
    private = {"access": {"listening": "owner", "downloads": "off", "visibility": "private"}}
    for day, title, fields in ((1, "Été", {}), (2, "Autumn", {"tags": ["été"]}), (3, "Winter", private)):
        await ida.write_track(title, **fields, createdAt=f"2026-01-0{day}T00:00:00Z")

    first = (await ida.ask("GET", "/tracks/me?limit=2")).json
    rest = (await ida.ask("GET", f"/tracks/me?limit=2&cursor={first['next_cursor']}")).json
    found = (await ida.ask("GET", "/tracks/me?q=ete&limit=1")).json
    more = (await ida.ask("GET", f"/tracks/me?q=ete&limit=1&cursor={found['next_cursor']}")).json

    assert [track["title"] for track in first["tracks"] + rest["tracks"]] == ["Winter", "Autumn", "Été"]
    assert (first["total"], first["has_more"], rest["has_more"]) == (3, True, False)
    assert [track["title"] for track in found["tracks"] + more["tracks"]] == ["Autumn", "Été"]
    assert (found["total"], more["has_more"]) == (2, False)
    assert (await ida.ask("GET", "/tracks/me?sort=popular")).json["total"] == 3
    assert (await scene.ben.ask("GET", "/tracks/me")).json["total"] == 0


async def test_what_is_not_granted_or_refused_there_leaves_nothing(scene):
    """403 before, 502 after their server was asked."""
    ida = await scene.studio.artist(profile=False, granting=f"atproto repo:{PROFILE}")
    deeds: list[tuple[str, str, Any]] = [
        ("POST", "/lists/playlists", {"name": "x"}),
        ("POST", "/albums/", {"title": "x"}),
        ("PATCH", f"/tracks/{scene.tracks[0][0]}", {"title": "x"}),
    ]

    lacking = [await ida.ask(method, path, sent) for method, path, sent in deeds]
    async with scene.studio.net.pds[0].hung_up():
        down = [await scene.mara.ask(method, path, sent) for method, path, sent in deeds]

    assert {(reply.status, reply.json["detail"]) for reply in lacking} == {(403, "scope_upgrade_required")}
    assert {(reply.status, reply.json["detail"]) for reply in down} == {(502, "pds_unavailable")}
    assert await scene.mara.records(LIST) == []
    assert (await scene.mara.record(scene.tracks[0][1].uri))["title"] == "Song 0"
    assert (await scene.mara.ask("GET", "/lists/playlists")).json == []
