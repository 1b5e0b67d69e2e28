"""Somebody who has one of everything that the API knows, and how they are called in addresses."""

import json
from dataclasses import dataclass, field
from typing import Any

from readapi.http.openapi.examples.names import RECEIVER
from tests.network import media
from tests.network.person import Person
from tests.readapi.studio import Artist, Studio, is_there, template

TITLE, TAG, ALBUM, PLAYLIST = "Harbour Lights", "ambient", "First Light", "Evening"


@dataclass(frozen=True, slots=True)
class Owner:
    """An artist with belongings. `names`: by the parameters and members that take them."""

    artist: Artist
    token: str = field(repr=False)
    names: dict[str, Any]


async def owner_of_everything(studio: Studio) -> Owner:
    """Sign somebody up, and let them publish, change, hear, say and collect."""
    artist = await studio.artist()
    track = await _published(artist)
    names = {
        **_of_track(track),
        **(await _of_lists(artist, track)),
        **(await _of_reactions(artist, track)),
        **(await _of_account(studio, artist)),
    }
    names["revision_id"] = await _revised(artist, track["id"])
    names["file_id"] = (await _guarded(artist))["file_id"]
    names["export"] = await _exported(artist)
    wanted = await artist.ask("POST", f"/tracks/{track['id']}/publishing", {"settings": template()})
    await artist.job(wanted)
    return Owner(
        artist,
        await artist.door.make_token(Person(artist.account), artist.session),
        names | {"job_id": wanted.json["job_id"]},
    )


async def _published(artist: Artist) -> dict[str, Any]:
    picture = media.cover(64, 64, (20, 20, 60), (200, 200, 240))
    said: dict[str, str | bytes] = {"title": TITLE, "tags": TAG, "description": "One take.", "image": picture}
    upload = await artist.upload(media.tone(2, 440), **said)
    assert upload["status"] == "completed", upload
    track = await artist.track(upload["track_id"])
    return track | {"upload_id": upload["upload_id"]}


async def _guarded(artist: Artist) -> dict[str, Any]:
    """A track that only they hear, whose audio is kept by the service."""
    owner = json.dumps(template("owner", "off", "unlisted"))
    upload = await artist.upload(media.tone(2, 550), title="Night Shift", publishing=owner)
    assert upload["status"] == "completed", upload
    return await artist.track(upload["track_id"])


def _of_track(track: dict[str, Any]) -> dict[str, Any]:
    return {
        "track_id": track["id"],
        "upload_id": track["upload_id"],
        "track_uri": track["uri"],
        "track_cid": track["cid"],
        "uri": track["uri"],
        "name": TAG,
        "q": TITLE.split()[0],
        "file": media.tone(1, 330),
        "image": media.cover(32, 32, (60, 20, 20), (240, 200, 200)),
    }


async def _of_lists(artist: Artist, track: dict[str, Any]) -> dict[str, Any]:
    """An album that holds the track, and a playlist that does."""
    album = await artist.make_album(ALBUM)
    moved = await artist.send("PATCH", f"/tracks/{track['id']}", album=ALBUM)
    assert moved.status == 200, moved.json
    made = await artist.ask("POST", "/lists/playlists", {"name": PLAYLIST, "show_on_profile": True})
    assert made.status == 200, made.json
    playlist = made.json["id"]
    await artist.shows(f"/lists/playlists/{playlist}", is_there)
    added = {"track_uri": track["uri"], "track_cid": track["cid"]}
    reply = await artist.ask("POST", f"/lists/playlists/{playlist}/tracks", added)
    assert reply.status == 200, reply.json
    return {
        "album_id": album,
        "album_or_artist": album,
        "slug": "first-light",
        "playlist_id": playlist,
        "playlist_uri": made.json["atproto_record_uri"],
    }


async def _of_reactions(artist: Artist, track: dict[str, Any]) -> dict[str, Any]:
    liked = await artist.ask("POST", f"/tracks/{track['id']}/like")
    said = await artist.ask("POST", f"/tracks/{track['id']}/comments", {"text": "Here!", "timestamp_ms": 500})
    assert (liked.status, said.status) == (200, 200), (liked.json, said.json)
    await artist.shows(f"/tracks/{track['id']}/comments", lambda reply: bool(reply.json["comments"]))
    chosen = {"publishing_defaults": template(), "scrobbling": False, "show_playing": True}
    turned_on = await artist.ask("PUT", "/preferences/", chosen)
    heard = {"artist_name": "Mara", "track_name": TITLE}
    info = {"origin_url": track["uri"], "duration": 3600}
    listen = {"track_metadata": {**heard, "additional_info": info}}
    sent = {"listen_type": "playing_now", "payload": [listen]}
    playing = await artist.ask("POST", "/1/submit-listens", sent)
    assert (turned_on.status, playing.status) == (200, 200), (turned_on.json, playing.json)
    return {"comment_id": said.json["id"]}


async def _of_account(studio: Studio, artist: Artist) -> dict[str, Any]:
    """A second account in the session, whose track is like theirs, and a token that may be revoked."""
    musician = await studio.artist()
    await musician.make_album("Tides")
    await musician.write_track("Open Water", tags=[TAG], album="Tides")
    other, door = Person(musician.account), artist.door
    started = await artist.ask("POST", "/auth/add-account/start", {"handle": other.account.handle})
    assert started.status == 200, started.json
    linked = await door.exchange(await door.arrive(other, started.json["auth_url"]), artist.session)
    assert linked.status == 200, linked.json
    back = await artist.ask("POST", "/auth/switch-account", {"target_did": artist.did})
    assert back.status == 200, back.json
    await door.make_token(Person(artist.account), artist.session, "old radio")
    tokens = (await artist.ask("GET", "/auth/developer-tokens")).json["tokens"]
    wanted = {
        "url": RECEIVER,
        "token_id": tokens[0]["id"],
        "wanted_collections": ["fm.svc.track"],
        "tags": [TAG],
    }
    hooked = await artist.ask("POST", "/webhooks", wanted)
    assert hooked.status == 200, hooked.json
    return {
        "artist": artist.account.handle,
        "handle": artist.account.handle,
        "other_handle": other.account.handle,
        "did": other.account.did,
        "target_did": other.account.did,
        "token_id": tokens[0]["id"],
        "webhook_id": hooked.json["webhook"]["id"],
    }


async def _exported(artist: Artist) -> str:
    """The folder of an export of all rows, once there is one."""
    reply = await artist.shows("/exports/", lambda reply: reply.status == 200)
    [full] = [export for export in reply["exports"] if export["kind"] == "full"]
    return str(full["files"][0]["path"].partition("/")[0])


async def _revised(artist: Artist, track_id: int) -> int:
    """The version that other audio has taken the place of."""
    reply = await artist.send("PUT", f"/tracks/{track_id}/audio", media.tone(3, 220))
    assert reply.status == 202, reply.json
    await artist.settled(reply.json["upload_id"])
    revisions = (await artist.ask("GET", f"/tracks/{track_id}/revisions")).json["revisions"]
    return int(revisions[0]["id"])
