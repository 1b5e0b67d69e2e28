"""Tracks, and what people made of them: shapes, order, who may meet what."""

import hashlib
import itertools
import socket
from urllib.parse import quote

import aiohttp
import pytest
from pydantic import TypeAdapter

from readapi.audio.blob_cache import cid_of
from schemas.api.comments import CommentPage
from schemas.api.tags import Tag, TaggedTrackPage
from schemas.api.tracks import LikerPage, Track, TrackPage
from schemas.ids import checked_id
from tests import documents
from tests.indexer.changes import comment, did, like, put, uri
from tests.readapi.music import PRIVATE, PUBLIC_TRACKS, SUPPORTERS, UNLISTED, playing, track_id
from tests.readapi.serving import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")


def titles(tracks):
    return [track["title"] for track in tracks]


async def test_a_track_has_its_shape(music):
    """Field for field, of a record with everything and of one with the least."""
    for person, number in (("mara", 1), ("ben", 30), ("mara", SUPPORTERS)):
        reply = await music.get(f"/tracks/{track_id(person, number)}")

        track = Track.model_validate(reply.json, strict=True)

        assert reply.status == 200
        assert track.id == track_id(person, number)
        assert track.uri == str(uri(person, "track", number))


async def test_a_track_is_found_by_every_name_it_has(music):
    """Its id, its at-uri percent-encoded, the same with the handle, and by-uri."""
    record = str(uri("mara", "track", 1))
    by_id = await music.get(f"/tracks/{track_id('mara', 1)}")
    for path in (
        f"/tracks/{quote(record, safe='')}",
        f"/tracks/{quote(record.replace(did('mara'), 'MARA.example'), safe='')}",
        f"/tracks/by-uri?uri={quote(record)}",
    ):
        assert (await music.get(path)).json == by_id.json


@pytest.mark.parametrize(
    "name", ["0", "abc", "-1", "9" * 40, "1.5", "at%3A%2F%2Fnobody", "%F0%9F%8E%B5", "٣"]
)
async def test_what_names_no_track_is_not_found(music, name):
    """Whatever stands there."""
    reply = await music.get(f"/tracks/{name}")

    assert (reply.status, reply.json["detail"]) == (404, "not_found")


async def test_a_private_track_does_not_exist_for_strangers(music):
    """404 on everything that begins with it; never 403."""
    private = f"/tracks/{track_id('mara', PRIVATE)}"
    for path in (private, f"{private}/likes", f"{private}/comments"):
        assert (await music.get(path)).status == 404


async def test_what_may_not_be_heard_is_shown_without_its_audio(music):
    """A supporters' track is gated, and its card holds no address of the audio at its server."""
    reply = await music.get(f"/tracks/{track_id('mara', SUPPORTERS)}")

    assert reply.json["gated"] is True
    assert reply.json["downloadable"] is False
    assert reply.json["support_gate"] == {"type": "listening"}
    assert reply.json["stream_url"] == f"{music.address}/tracks/{checked_id(reply.json['uri'])}/stream"
    assert reply.json["r2_url"] is None
    assert reply.json["pds_blob_cid"] is None


async def test_a_service_that_moves_tells_its_new_address(music):
    """Though nothing that is stored is made anew."""
    moved = music.settings.model_copy(update={"public_url": "https://moved.example"})
    path = f"/tracks/{track_id('mara', 1)}"
    before = await music.get(path)
    sock = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{sock.getsockname()[1]}{path}"
    async with serving(moved, sock), aiohttp.ClientSession() as client, client.get(url) as reply:
        told, tag = await reply.json(), reply.headers["ETag"]

    assert told["stream_url"] == f"https://moved.example/tracks/{checked_id(told['uri'])}/stream"
    assert told["r2_url"] == told["stream_url"]
    assert music.address not in str(told)
    assert tag != before.headers["ETag"]


async def test_the_newest_come_first(music):
    """Public tracks of everybody, by the earlier of when they were made and first seen."""
    reply = await music.get("/tracks/")

    page = TrackPage.model_validate(reply.json, strict=True)

    assert titles(reply.json["tracks"]) == ["Full", "Song 12", *(f"Song {n}" for n in range(9, 0, -1))]
    assert not page.has_more


async def test_an_artists_list_shows_the_unlisted_too(music):
    """Private ones stay private."""
    reply = await music.get(f"/tracks/?artist_did={did('mara')}")

    assert f"Song {UNLISTED}" in titles(reply.json["tracks"])
    assert f"Song {PRIVATE}" not in titles(reply.json["tracks"])


async def test_the_popular_come_first_when_asked_for(music):
    """By likes; equals by their id."""
    reply = await music.get("/tracks/?sort=popular")

    assert titles(reply.json["tracks"])[:2] == ["Song 2", "Song 3"]


async def test_any_of_several_tags_will_do(music):
    """However they are spelt."""
    both = await music.get("/tracks/?tags=AMBIENT&tags=%23field%20recording")
    one = await music.get("/tracks/?tags=field%20recording")
    none = await music.get("/tracks/?tags=polka")

    assert len(both.json["tracks"]) == PUBLIC_TRACKS + 2
    assert titles(one.json["tracks"]) == ["Full"]
    assert none.json == {"tracks": [], "next_cursor": None, "has_more": False}


@pytest.mark.parametrize(
    "path",
    [
        "/tracks/?limit=4",
        "/tracks/?limit=4&sort=popular",
        f"/tracks/?limit=4&artist_did={did('mara')}",
        "/tracks/?limit=4&tags=ambient",
        "/tracks/tags/ambient?limit=4",
    ],
)
async def test_following_cursors_visits_everything_once(music, path):
    """Pages together are the whole list, in order."""
    whole = (await music.get(path.replace("limit=4", "limit=100"))).json["tracks"]

    pages = await music.pages(path, "tracks")

    assert list(itertools.chain(*pages)) == whole
    assert [len(page) for page in pages[:-1]] == [4] * (len(pages) - 1)


async def test_top_tracks_are_those_that_most_people_like(music):
    """A bare list; only the liked; private ones never."""
    reply = await music.get("/tracks/top")

    TypeAdapter(list[Track]).validate_python(reply.json, strict=True)

    assert [(track["title"], track["like_count"]) for track in reply.json] == [("Song 2", 3), ("Song 3", 1)]
    assert reply.headers["X-As-Of"].endswith("Z")
    assert titles((await music.get("/tracks/top?limit=1")).json) == ["Song 2"]


async def test_tags_are_counted(music):
    """A bare list by use; `q` is how they begin."""
    reply = await music.get("/tracks/tags")

    tags = TypeAdapter(list[Tag]).validate_python(reply.json, strict=True)

    assert (tags[0].name, tags[0].track_count) == ("ambient", PUBLIC_TRACKS + 2)
    assert {tag["name"] for tag in (await music.get("/tracks/tags?q=FIE")).json} == {"field recording"}
    assert (await music.get("/tracks/tags?q=polka")).json == []


@pytest.mark.parametrize("name", ["ambient", "Ambient", "a/b", "a%2Fb", "%23ambient"])
async def test_a_tags_tracks_are_found_however_it_is_spelt(music, name):
    """A name may hold a slash."""
    reply = await music.get(f"/tracks/tags/{name}")

    page = TaggedTrackPage.model_validate(reply.json, strict=True)

    assert page.tag.name in ("ambient", "a/b")
    assert page.tag.track_count == len(page.tracks)


async def test_a_tag_that_nobody_uses_is_not_found(music):
    """404 rather than an empty page."""
    assert (await music.get("/tracks/tags/polka")).status == 404


async def test_likers_come_newest_first(music):
    """With their names, and how many there are."""
    reply = await music.get(f"/tracks/{track_id('mara', 2)}/likes")

    page = LikerPage.model_validate(reply.json, strict=True)

    assert [user.handle for user in page.users] == ["handle.invalid", "ida.example", "ben.example"]
    assert page.count == 3
    pages = await music.pages(f"/tracks/{track_id('mara', 2)}/likes?limit=2", "users")
    assert list(itertools.chain(*pages)) == reply.json["users"]


async def test_comments_stand_in_the_order_of_the_track(music):
    """By the moment they are about."""
    reply = await music.get(f"/tracks/{track_id('mara', 2)}/comments")

    page = CommentPage.model_validate(reply.json, strict=True)

    assert [(one.text, one.user_handle) for one in page.comments] == [
        ("early", "ben.example"),
        ("later", "ida.example"),
    ]
    assert page.count == 2
    pages = await music.pages(f"/tracks/{track_id('mara', 2)}/comments?limit=1", "comments")
    assert list(itertools.chain(*pages)) == reply.json["comments"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("sort=oldest", "sort"),
        ("artist_did=mara.example", "artist_did"),
        ("&".join(f"tags={n}" for n in range(21)), "tags"),
    ],
)
async def test_a_parameter_out_of_range_is_refused(music, query, field):
    """422 names it; nothing is silently cut."""
    reply = await music.get(f"/tracks/?{query}")

    assert reply.status == 422
    assert [error["field"] for error in reply.json["errors"]] == [field]


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "%FF", "🎵", "x" * 5000])
async def test_a_cursor_of_nobodys_is_refused(music, cursor):
    """400, not an empty page and not a failure."""
    for path in ("/tracks/", "/albums/", "/tracks/tags/ambient", f"/tracks/{track_id('mara', 2)}/likes"):
        reply = await music.get(f"{path}?cursor={cursor}")

        assert (reply.status, reply.json["detail"]) == (400, "invalid_cursor")


async def test_a_cursor_of_another_list_is_refused(music):
    """A position by time says nothing about popularity."""
    cursor = (await music.get("/tracks/?limit=1")).json["next_cursor"]

    assert (await music.get(f"/tracks/?sort=popular&cursor={cursor}")).status == 400


@pytest.mark.slow
async def test_pages_hold_everything_once_though_rows_arrive(tmp_path):
    """Newer and older tracks, likes and comments come in between two pages."""
    async with playing(tmp_path) as music:
        before = set(titles((await music.get("/tracks/?limit=100")).json["tracks"]))
        seen, cursor = [], ""
        for step in itertools.count(50):
            page = (await music.get(f"/tracks/?limit=4{cursor}")).json
            seen += titles(page["tracks"])
            if not page["has_more"]:
                break
            cursor = f"&cursor={page['next_cursor']}"
            two = uri("mara", "track", 2)
            await music.add(
                put("ida", "track", step, at=step, title=f"New {step}"),
                put(
                    "ida", "track", step + 500, at=step, title=f"Old {step}", createdAt="2020-01-01T00:00:00Z"
                ),
                like(f"fan{step}", two, at=step),
                comment(f"fan{step}", two, 1, at=step),
            )

        assert len(seen) == len(set(seen))
        assert before <= set(seen)
        assert not any(title.startswith("New") for title in seen)


async def test_the_blob_of_a_track_that_is_not_open_goes_by_no_name_of_its_own(music):
    """In no answer but its record's proof: neither its CID, nor the same hash otherwise written."""
    gated = {"listening": "supporters", "downloads": "supporters", "visibility": "public"}
    secret = documents.blob(content=b"secret")
    await music.add(
        put("mara", "track", 60, at=60, title="Gated", audioBlob=secret, access=gated, tags=["hush"])
    )
    number, digest = track_id("mara", 60), hashlib.sha256(b"secret").hexdigest()
    cid = cid_of(digest)
    track = (await music.get(f"/tracks/{number}")).json
    replies = [
        await music.get(path)
        for path in (
            f"/tracks/{number}",
            f"/tracks/{number}/proof",
            "/tracks/tags/hush",
            "/search/?q=gated",
            f"/track/{number}",
            f"/embed/track/{number}",
            f"/oembed?url={music.address}/track/{number}",
        )
    ]

    by_name = await music.get(f"/audio/{track['file_id']}/stream")
    by_cid = await music.get(f"/audio/{cid}/stream")

    for reply in replies:
        assert reply.status == 200
        for name in (cid, digest):
            assert name not in str(reply.json)
    assert (track["pds_blob_cid"], by_name.status, by_cid.status) == (None, 401, 404)
