"""Tracks in private Spaces: published there, and seen and heard by whom the Space lets in."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
from joserfc.jwk import ECKey
from sqlalchemy import update

from readapi.audio.blob_cache import FOLDER
from readapi.state.db.publishing_tables import uploads
from schemas.api.tracks import Track
from schemas.audio import hidden_file
from tests.indexer.changes import did
from tests.network.space_host import cid_of
from tests.readapi.audio.sounds import sound
from tests.readapi.music import track_id as public_id
from tests.readapi.spaces.private import SCOPES, Private, private, private_spaces, space_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def short_song(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound(tmp_path_factory.mktemp("song") / "song.flac", "flac", 1.0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Private]:
    async with private_spaces(tmp_path_factory.mktemp("private"), retry_seconds=0.01) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def track(module: Private, short_song: Path) -> dict[str, Any]:
    """Mara's, in her Space, as she sees it."""
    done = await module.upload("mara", short_song, publishing=private(), tags='["Tide"]')
    assert done["status"] == "completed", done
    return dict((await module.get("mara", f"/tracks/{done['track_id']}")).json)


@pytest_asyncio.fixture(loop_scope="module")
async def opened(module: Private, track: dict[str, Any]) -> AsyncIterator[Private]:
    """Ben and Ida have just signed in, nothing is cached, and the server tells the truth again afterwards."""
    host = module.host
    for person in ("ben", "ida"):
        await module.sign_in(person)
    shutil.rmtree(module.stage.music.settings.data_dir / FOLDER, ignore_errors=True)
    yield module
    host.lies, host.fails, host.forges_with = {}, {}, None


async def test_a_track_is_written_to_its_artists_space_and_nowhere_else(
    opened: Private, track: dict[str, Any], short_song: Path
) -> None:
    """With its blob. The public repo is read at most, and nothing of the file stays here."""
    value = opened.host.records[space_of("mara"), did("mara"), "fm.svc.track", track["uri"][-13:]]

    assert track["uri"] == f"{space_of('mara')}/{did('mara')}/fm.svc.track/{track['uri'][-13:]}"
    assert value["access"] == {"listening": "space", "downloads": "open", "visibility": "private"}
    assert opened.host.blobs[value["audioBlob"]["ref"]["$link"]] == short_song.read_bytes()
    assert "audioUrl" not in value
    store = opened.stage.music.settings.data_dir / "audio"
    assert [path.name for path in store.rglob("*") if path.is_file()] in ([], ["identity"])
    asked = {method for method in opened.host.asked if method.startswith("com.atproto.repo.")}
    assert asked == {"com.atproto.repo.getRecord", "com.atproto.repo.uploadBlob"}


async def test_members_see_and_hear_it(opened: Private, track: dict[str, Any], short_song: Path) -> None:
    """By its id and by its address; any part of it, with the same shape as every track."""
    by_id = await opened.get("ben", f"/tracks/{track['id']}")
    by_uri = await opened.get("ben", f"/tracks/by-uri?uri={quote(track['uri'], safe='')}")
    part = await opened.stage.music.get(
        f"/tracks/{quote(track['uri'], safe='')}/stream", Range="bytes=0-3", **opened.logins["ben"]
    )

    assert by_id.json == by_uri.json
    assert Track.model_validate(by_id.json).title == "Secret tide"
    told = {name: by_id.json[name] for name in ("artist", "tags", "gated", "downloadable", "visibility")}
    assert told == {
        "artist": "Mara",
        "tags": ["tide"],
        "gated": False,
        "downloadable": True,
        "visibility": "private",
    }
    assert (part.status, part.json) == (206, short_song.read_bytes()[:4].decode(errors="replace"))
    assert part.headers["Cache-Control"].split(",")[0] == "private"
    assert (await opened.get("ben", f"/tracks/{track['id']}/download")).status == 200


async def test_a_space_is_asked_once_for_as_long_as_its_answer_is_good(
    opened: Private, track: dict[str, Any]
) -> None:
    """For one session; another one of the same person may have been granted less."""
    asked = opened.host.times("getSpaceCredential")

    for _ in range(3):
        assert (await opened.heard("ben", track["id"])).status == 200
    assert opened.host.times("getSpaceCredential") == asked + 1
    assert opened.host.exchanged_at[-1] == opened.host.apart

    await opened.sign_in("ben", SCOPES)
    refused = await opened.heard("ben", track["id"])
    assert (refused.status, refused.json["detail"]) == (403, "scope_upgrade_required")


async def test_whoever_has_not_granted_spaces_does_not_see_what_is_in_them(
    opened: Private, track: dict[str, Any]
) -> None:
    """They are told the same as of a track that never was."""
    await opened.sign_in("ida", SCOPES)
    places = (str(track["id"]), f"by-uri?uri={quote(track['uri'], safe='')}", "1234567")

    seen, found, unknown = [await opened.get("ida", f"/tracks/{place}") for place in places]

    assert (unknown.status, unknown.json["detail"]) == (404, "not_found")
    assert seen.json == found.json == unknown.json


async def test_an_artist_sees_what_is_known_while_their_server_is_down(
    opened: Private, track: dict[str, Any]
) -> None:
    """The rest of their own tracks, and a sentence that says why these are not all."""
    whole = (await opened.get("mara", "/tracks/me")).json
    opened.host.fails["listRecords"] = 503

    part = await opened.get("mara", "/tracks/me")

    assert track["id"] in [one["id"] for one in whole["tracks"]]
    assert whole["incomplete"] is None
    assert (part.status, track["id"] in [one["id"] for one in part.json["tracks"]]) == (200, False)
    assert part.json["total"] < whole["total"]
    assert part.json["incomplete"].endswith(".")


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": space_of("ida")},
        {"iss": did("ida")},
        {"cnf": {"jkt": "of-somebody-else"}},
        {"exp": 1_000_000_000},
        {"forged": True},
    ],
)
async def test_a_credential_that_does_not_hold_opens_nothing(
    opened: Private, track: dict[str, Any], claims: dict[str, Any]
) -> None:
    """For another Space, of another, for another key, out of date, or signed by another."""
    opened.host.lies["credential"] = claims
    if "forged" in claims:
        opened.host.forges_with = ECKey.generate_key("secp256k1")
    read = opened.host.times("getRecord")

    refused = await opened.heard("ben", track["id"])

    assert (refused.status, refused.json["detail"]) == (403, "space_refused")
    assert opened.host.times("getRecord") == read


async def test_a_space_that_has_another_key_is_looked_up_once_more(
    opened: Private, track: dict[str, Any]
) -> None:
    """Its authority may change it at any time; that is no refusal."""
    opened.host.space_keys[did("mara")] = ECKey.generate_key("P-256")

    assert (await opened.heard("ben", track["id"])).status == 200


async def test_a_refusal_is_final(opened: Private, track: dict[str, Any]) -> None:
    """Nothing else is asked, and for a while nobody at all; whoever only looks does not know of the track."""
    before = len(opened.host.asked)

    heard = [await opened.heard("ida", track["id"]) for _ in range(2)]
    kept = await opened.get("ida", f"/tracks/{track['id']}/download")
    seen = await opened.get("ida", f"/tracks/{track['id']}")
    unknown = await opened.get("ida", f"/tracks/{quote(track['uri'][:-1] + '2', safe='')}/stream")

    assert {reply.json["detail"] for reply in (*heard, kept, unknown)} == {"space_refused"}
    assert (seen.status, seen.json["detail"]) == (404, "not_found")
    asked = ["com.atproto.space.getDelegationToken", "com.atproto.space.getSpaceCredential"]
    assert opened.host.asked[before:] == asked


@pytest.mark.parametrize(
    ("method", "status", "answer", "detail"),
    [
        ("getSpaceCredential", 302, 403, "space_refused"),
        ("getSpaceCredential", 503, 502, "pds_unavailable"),
        ("getDelegationToken", 400, 403, "space_refused"),
        ("getRecord", 403, 403, "space_refused"),
        ("getRecord", 400, 404, "not_found"),
        ("getRecord", 429, 502, "pds_unavailable"),
        ("getBlob", 401, 403, "space_refused"),
        ("getBlob", 500, 502, "pds_unavailable"),
    ],
)
async def test_each_server_on_the_way_may_refuse_or_fail(
    opened: Private, track: dict[str, Any], method: str, status: int, answer: int, detail: str
) -> None:
    """A failure is told as one, and may pass; redirects lead nowhere."""
    opened.host.fails[method] = status

    refused = await opened.heard("ben", track["id"])

    assert (refused.status, refused.json["detail"]) == (answer, detail)
    opened.host.fails.clear()
    again = await opened.heard("ben", track["id"])
    assert (again.status == 403) is (answer == 403)


@pytest.mark.parametrize(
    "lie",
    [
        {"cid": cid_of(b"something else", 0x71)},
        {"uri": f"{space_of('ida')}/{did('mara')}/fm.svc.track/3kaaaaaaaaa22"},
        {"value": {"$type": "fm.svc.track", "title": "Another"}},
        {"value": "no record"},
        {"more": "x" * (2 << 20)},
    ],
)
async def test_a_record_that_is_not_what_it_says_is_not_shown(
    opened: Private, track: dict[str, Any], lie: dict[str, Any]
) -> None:
    """Its CID and its address are held to it; and nobody reads an answer without end."""
    opened.host.lies["getRecord"] = lie

    shown = await opened.get("ben", f"/tracks/{track['id']}")

    assert (shown.status, shown.json["detail"]) == (502, "pds_unavailable")


async def test_a_recording_that_is_not_what_the_record_names_is_not_sent(
    opened: Private, track: dict[str, Any]
) -> None:
    hidden = {hidden_file(track["artist_did"], cid): cid for cid in opened.host.blobs}
    cid = hidden[track["file_id"]]
    content = opened.host.blobs[cid]
    opened.host.blobs[cid] = content[:-1] + b"?"

    heard = await opened.heard("ben", track["id"])

    opened.host.blobs[cid] = content
    assert (heard.status, heard.json["detail"]) == (502, "pds_unavailable")


async def test_their_artist_finds_them_among_their_own(opened: Private, short_song: Path) -> None:
    """Page by page in one order with those that are public; words find them too; others have none of them."""
    await opened.upload("mara", short_song, publishing=private(), title="Deeper tide")
    whole = (await opened.get("mara", "/tracks/me?limit=100")).json
    pages, cursor = [], ""
    while cursor is not None:
        page = (await opened.get("mara", f"/tracks/me?limit=5{cursor}")).json
        pages += page["tracks"]
        cursor = f"&cursor={quote(page['next_cursor'])}" if page["has_more"] else None
    popular = (await opened.get("mara", "/tracks/me?sort=popular&limit=100")).json
    found = (await opened.get("mara", "/tracks/me?q=tide")).json

    ids = [shown["id"] for shown in whole["tracks"]]
    assert whole["total"] == len(ids) == len(set(ids)) == 14
    assert [shown["id"] for shown in pages] == ids
    assert sorted(shown["id"] for shown in popular["tracks"]) == sorted(ids)
    assert [shown["title"] for shown in found["tracks"]] == ["Deeper tide", "Secret tide"]
    assert found["total"] == 2
    assert (await opened.get("ben", "/tracks/me?q=tide")).json["tracks"] == []


@pytest.mark.parametrize(
    "lie",
    [
        {"records": "none"},
        {"records": [{}] * 101},
        {"records": [{"rkey": "../2", "cid": cid_of(b"one", 0x71), "value": {}}]},
        {"cursor": "x" * 1001},
    ],
)
async def test_a_list_that_is_not_what_was_asked_for_is_not_shown(
    opened: Private, track: dict[str, Any], lie: dict[str, Any]
) -> None:
    """Neither are there more records on a page, nor longer cursors, than anybody means."""
    opened.host.lies["listRecords"] = lie

    shown = await opened.get("mara", "/tracks/me")

    assert shown.status == 200
    assert track["id"] not in [one["id"] for one in shown.json["tracks"]]
    assert shown.json["incomplete"]


async def test_a_session_that_may_not_see_them_lists_the_others(opened: Private) -> None:
    logins = opened.logins["mara"]
    await opened.sign_in("mara", SCOPES)

    listed = (await opened.get("mara", "/tracks/me?limit=100")).json

    opened.logins["mara"] = logins
    opened.host.granted[did("mara")] = opened.host.granted[did("ben")]
    assert {shown["visibility"] for shown in listed["tracks"]} == {"public", "unlisted", "private"}
    assert listed["total"] == 12


async def test_the_space_is_made_when_there_is_none(opened: Private, short_song: Path) -> None:
    """And an upload that is interrupted once all was done ends with the same record."""
    assert space_of("ida") not in opened.host.members

    done = await opened.upload("ida", short_song, publishing=private("off"))
    async with opened.stage.state.database.writing() as connection:
        again = update(uploads).where(uploads.c.id == done["upload_id"])
        await connection.execute(again.values(status="processing", claimed_until=None, completed_at=None))
    again_done = await opened.settled("ida", done["upload_id"])

    assert again_done["track_id"] == done["track_id"]
    assert opened.host.members[space_of("ida")] == {did("ida")}
    assert len([key for key in opened.host.records if key[0] == space_of("ida")]) == 1
    assert (await opened.heard("ida", done["track_id"])).status == 200


async def test_only_their_artist_deletes_them(opened: Private, tmp_path: Path) -> None:
    """With what was heard of them, which lay in the cache."""
    short = sound(tmp_path / "short.flac", "flac", 1.5)
    done = await opened.upload("mara", short, publishing=private(), title="Short-lived")
    path = f"/tracks/{done['track_id']}"
    assert (await opened.heard("ben", done["track_id"])).status == 200
    cached = opened.stage.music.settings.data_dir / FOLDER
    assert len(list(cached.iterdir())) == 1

    others = await opened.stage.music.send("DELETE", path, **opened.logins["ben"])
    own = await opened.stage.music.send("DELETE", path, **opened.logins["mara"])

    assert (others.status, own.status) == (404, 200)
    assert (await opened.settled("mara", done["upload_id"]))["track_id"] is None
    assert list(cached.iterdir()) == []
    assert not [value for value in opened.host.records.values() if value["title"] == "Short-lived"]
    assert (await opened.heard("mara", done["track_id"])).status == 404


@pytest.mark.parametrize(
    ("scopes", "fails", "reason"),
    [
        (SCOPES, {}, "You have not granted this service your private Spaces; ask for it at"),
        (None, {"listSpaces": 501}, "Your server does not offer private Spaces."),
        (None, {"listSpaces": 503}, "Your server could not be asked whether it offers private Spaces."),
    ],
)
async def test_what_is_not_available_is_refused_with_its_reason(
    opened: Private, short_song: Path, scopes: frozenset[str] | None, fails: dict[str, int], reason: str
) -> None:
    """Before anything is kept: not granted, not offered, nobody could be asked."""
    if scopes is not None:
        await opened.sign_in("ben", scopes)
    opened.host.fails = fails
    stored = dict(opened.host.blobs)

    told = (await opened.get("ben", "/capabilities")).json["audiences"]["space"]
    refused = await opened.send("ben", short_song, publishing=private())

    assert not told["available"]
    assert told["reason"].startswith(reason)
    assert (refused.status, refused.json["detail"]) == (422, "audience_unavailable")
    assert refused.json["message"].startswith(reason)
    assert opened.host.blobs == stored


async def test_spaces_hold_neither_albums_nor_what_was_public(opened: Private, short_song: Path) -> None:
    """An upload on an album, and a change of a track that is published: refused, with the reason."""
    assert (await opened.get("ben", "/capabilities")).json["audiences"]["space"]["available"]
    path = f"/tracks/{public_id('mara', 1)}/publishing"
    body = f'{{"settings": {private()}}}'.encode()
    headers = {"Content_Type": "application/json", **opened.logins["mara"]}

    on_album = await opened.send("mara", short_song, publishing=private(), album="First Light")
    moved = await opened.stage.music.send("POST", path, body, **headers)

    assert (on_album.status, on_album.json["detail"]) == (400, "private_album")
    assert (moved.status, moved.json["detail"]) == (422, "audience_unavailable")
    assert "cannot be moved into a private Space" in moved.json["message"]
    assert [error["field"] for error in moved.json["errors"]] == ["settings.access.listening"]
