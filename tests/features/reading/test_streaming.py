"""Recordings are sent exactly, in whole and in part, to those who may have them."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from readapi.index.lookups import MOST_OF_A_FILE
from tests.indexer.changes import put, uri
from tests.readapi.audio.listening import OPEN, Listening, listening

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONTENT = os.urandom(700_001)
RENDITION = os.urandom(1000)
FILE = hashlib.sha256(CONTENT).hexdigest()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(
    kept_in: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Listening]:
    """A worker with one recording that everybody may have."""
    fields = {"web_url": "https://app.example", **kept_in}
    async with listening(tmp_path_factory.mktemp("stage"), **fields) as stage:
        await stage.publish(CONTENT, "mara", 50, title="Low tide")
        yield stage


async def fetch(
    stage: Listening, path: str, method: str = "GET", **headers: str
) -> tuple[int, "aiohttp.typedefs.CIMultiDictProxy[str]", bytes]:
    """One request, the whole answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asking = stage.music.client.request(
        method, stage.music.address + path, headers=named, allow_redirects=False
    )
    async with asking as answer:
        return answer.status, answer.headers, await answer.read()


async def stream(stage: Listening, number: int = 50) -> str:
    """Where one of Mara's tracks is heard."""
    found = await stage.music.get(f"/tracks/by-uri?uri={uri('mara', 'track', number)}")
    return str(found.json["stream_url"]).removeprefix(stage.music.address)


async def test_a_recording_is_sent_whole(stage: Listening) -> None:
    """With what a player needs to know, for any page to play and any cache to keep for a while."""
    status, headers, body = await fetch(stage, await stream(stage))

    assert (status, body) == (200, CONTENT)
    assert headers["Content-Length"] == str(len(CONTENT))
    assert (headers["Content-Type"], headers["Accept-Ranges"]) == ("audio/flac", "bytes")
    assert headers["ETag"] == f'"{FILE}"'
    assert headers["Cache-Control"] == "public, max-age=0, must-revalidate"
    assert headers["Vary"] == "Authorization, Cookie, Origin"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "Content-Range" in headers["Access-Control-Expose-Headers"]
    assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-", 0, 700_001),
        ("bytes=0-0", 0, 1),
        ("bytes=262143-262144", 262_143, 262_145),
        ("bytes=-5", 699_996, 700_001),
        ("bytes=700000-", 700_000, 700_001),
    ],
)
async def test_a_part_is_sent(stage: Listening, asked: str, start: int, stop: int) -> None:
    """To the byte."""
    status, headers, body = await fetch(stage, await stream(stage), Range=asked)

    assert (status, body) == (206, CONTENT[start:stop])
    assert headers["Content-Range"] == f"bytes {start}-{stop - 1}/700001"
    assert headers["Content-Length"] == str(stop - start)


async def test_what_lies_behind_the_end_is_refused(stage: Listening) -> None:
    """In the one shape of refusals, saying how long the recording is."""
    reply = await stage.music.get(await stream(stage), Range="bytes=700001-")

    assert (reply.status, reply.headers["Content-Range"]) == (416, "bytes */700001")
    assert reply.json["detail"] == "invalid_request"


async def test_several_ranges_are_answered_whole(stage: Listening) -> None:
    """As servers may."""
    status, headers, body = await fetch(stage, await stream(stage), Range="bytes=0-1,5-6")

    assert (status, body) == (200, CONTENT)
    assert "Content-Range" not in headers


async def test_head_is_get_without_the_recording(stage: Listening) -> None:
    """A range means nothing there."""
    status, headers, body = await fetch(stage, await stream(stage), "HEAD", Range="bytes=0-4")

    assert (status, body) == (200, b"")
    assert headers["Content-Length"] == str(len(CONTENT))
    assert "Content-Range" not in headers


async def test_who_has_it_is_told_so(stage: Listening) -> None:
    """Even if they ask for a part."""
    status, headers, body = await fetch(
        stage, await stream(stage), If_None_Match=f'"{FILE}"', Range="bytes=0-4"
    )

    assert (status, body, headers["ETag"]) == (304, b"", f'"{FILE}"')


async def test_a_part_of_another_version_is_not_sent(stage: Listening) -> None:
    """Whoever has half of another file gets all of this one."""
    path = await stream(stage)

    same = await fetch(stage, path, Range="bytes=0-4", If_Range=f'"{FILE}"')
    other = await fetch(stage, path, Range="bytes=0-4", If_Range='"other"')

    assert (same[0], same[2]) == (206, CONTENT[:5])
    assert (other[0], other[2]) == (200, CONTENT)


async def test_a_download_has_a_name(stage: Listening) -> None:
    """Of the artist and the title."""
    path = (await stream(stage)).replace("/stream", "/download")

    status, headers, body = await fetch(stage, path)

    assert (status, body) == (200, CONTENT)
    named = "attachment; filename=\"Mara - Low tide.flac\"; filename*=UTF-8''Mara%20-%20Low%20tide.flac"
    assert headers["Content-Disposition"] == named


async def test_a_recording_is_found_by_its_hash(stage: Listening) -> None:
    """To be heard and to be kept; a hash that nothing has is not found."""
    heard = await fetch(stage, f"/audio/{FILE}/stream", Range="bytes=0-4")
    kept, kept_too = [await fetch(stage, f"/audio/{FILE}{end}") for end in ("", "/download")]
    missing = await fetch(stage, f"/audio/{FILE[::-1]}")

    assert (heard[0], heard[2]) == (206, CONTENT[:5])
    assert (kept[0], kept[2]) == (kept_too[0], kept_too[2]) == (200, CONTENT)
    assert "filename=" in kept[1]["Content-Disposition"] == kept_too[1]["Content-Disposition"]
    assert missing[0] == 404


async def test_connections_are_used_again(stage: Listening) -> None:
    """What was sent past the framework leaves them in order."""
    path = await stream(stage)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as client:
        for _ in range(3):
            async with client.get(stage.music.address + path, headers={"Range": "bytes=1-300000"}) as answer:
                assert await answer.read() == CONTENT[1:300_001]
            async with client.get(stage.music.address + "/health") as answer:
                assert answer.status == 200


async def test_pipelined_requests_are_answered_in_order(stage: Listening) -> None:
    """The head of the second comes after the last byte of the first."""
    path, host = await stream(stage), stage.music.address.removeprefix("http://")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    asked = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nRange: bytes=0-299999\r\n"
    writer.write(f"{asked}\r\n{asked}Connection: close\r\n\r\n".encode())

    sent = await reader.read(-1)
    writer.close()
    await writer.wait_closed()

    assert sent.count(CONTENT[:300_000]) == 2
    assert sent.count(b"HTTP/1.1 206 Partial Content\r\n") == 2


async def test_somebody_who_goes_away_is_forgotten(stage: Listening) -> None:
    """And what was open for them is closed."""
    assert await stage.left_open_by_leaving(await stream(stage), 20) <= 2


async def test_what_may_be_heard_and_not_kept_is_a_rendition(stage: Listening) -> None:
    """The original is for whoever may download it; here for the artist alone."""
    original = CONTENT[:5000]
    number = await stage.publish(original, "mara", 51, RENDITION, access=OPEN | {"downloads": "off"})
    owner = await stage.as_("mara")

    heard = await fetch(stage, f"/tracks/{number}/stream")
    refused = await stage.music.get(f"/tracks/{number}/download")
    own = await fetch(stage, f"/tracks/{number}/download", **owner)

    assert (heard[0], heard[1]["Content-Type"], heard[2]) == (200, "audio/mp4", RENDITION)
    assert heard[1]["Cache-Control"] == "public, max-age=0, must-revalidate"
    assert heard[1]["ETag"] != own[1]["ETag"]
    assert (refused.status, refused.json["detail"]) == (404, "not_found")
    assert (own[0], own[2]) == (200, original)


async def test_what_somebody_gets_is_kept_for_them_alone(stage: Listening) -> None:
    """Under the address at which others get the rendition: no cache in between may mix them up."""
    number = await stage.publish(CONTENT[:5500], "mara", 57, RENDITION, access=OPEN | {"downloads": "off"})
    owner = await stage.as_("mara")

    heard = await fetch(stage, f"/tracks/{number}/stream", **owner)
    found = await fetch(stage, f"/audio/{hashlib.sha256(CONTENT[:5500]).hexdigest()}/stream", **owner)
    kept = await fetch(stage, f"/tracks/{number}/download", **owner)

    for status, headers, body in (heard, found, kept):
        assert (status, body) == (200, CONTENT[:5500])
        assert headers["Cache-Control"] == "private, no-cache"
        assert {"Authorization", "Cookie"} <= set(headers["Vary"].split(", "))


async def test_a_rendition_that_is_not_made_yet_is_not_replaced_by_the_original(stage: Listening) -> None:
    """The listener is told to come again."""
    number = await stage.publish(CONTENT[:6000], "mara", 52, access=OPEN | {"downloads": "off"})

    reply = await stage.music.get(f"/tracks/{number}/stream")

    assert (reply.status, "not ready" in reply.json["message"]) == (404, True)


async def test_nobody_hears_a_recording_by_writing_its_address(stage: Listening) -> None:
    """A record that names somebody else's file is heard by nobody."""
    secret = CONTENT[:7000]
    await stage.publish(secret, "mara", 53, access=OPEN | {"listening": "owner"})
    address = f"{stage.music.address}/audio/{hashlib.sha256(secret).hexdigest()}"
    await stage.music.add(put("ben", "track", 53, at=2000, audioUrl=address, access=OPEN))
    stolen = await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', 53)}")

    for path in (f"/tracks/{stolen.json['id']}/stream", f"/tracks/{stolen.json['id']}/download"):
        assert (await stage.music.get(path)).status == 404
    assert (await stage.music.get(address.removeprefix(stage.music.address))).status == 404


async def test_a_recording_is_found_by_its_hash_behind_any_number_of_decoys(stage: Listening) -> None:
    """Records of others that name its address do not stand before the track that it is of."""
    content = CONTENT[:8000]
    await stage.publish(content, "mara", 58)
    path = f"/audio/{hashlib.sha256(content).hexdigest()}"
    named = {"audioUrl": stage.music.address + path, "access": OPEN}
    decoys = range(5000, 5000 + MOST_OF_A_FILE + 5)
    await stage.music.add(*(put("ben", "track", number, at=number, **named) for number in decoys))

    heard = await fetch(stage, f"{path}/stream")
    kept = await fetch(stage, path)

    assert (heard[0], heard[2]) == (kept[0], kept[2]) == (200, content)
    assert "Mara" in kept[1]["Content-Disposition"]


async def test_audio_of_another_service_is_asked_of_it(stage: Listening) -> None:
    """Where everybody may have it; otherwise nobody is told where it is."""
    where = "https://other.example/song.mp3"
    shut = OPEN | {"listening": "signed_in"}
    await stage.music.add(
        put("ben", "track", 54, at=2001, audioUrl=where, access=OPEN),
        put("ben", "track", 55, at=2002, audioUrl=where + "?", access=shut),
    )
    found = [await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', n)}") for n in (54, 55)]
    ida = await stage.as_("ida")

    led = await fetch(stage, f"/tracks/{found[0].json['id']}/stream")
    told = await fetch(stage, f"/tracks/{found[1].json['id']}/stream", **ida)

    assert (led[0], led[1]["Location"]) == (302, where)
    assert (told[0], b"other.example" in told[2]) == (404, False)


NAVIGATING = (
    {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Accept": "text/html,*/*;q=0.8"},
    {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"},
    {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
)
PLAYING = (
    {"Sec-Fetch-Dest": "audio", "Sec-Fetch-Mode": "no-cors", "Accept": "*/*"},
    {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Accept": "text/html"},
    {"Accept": "*/*"},
    {},
)


async def test_a_browser_asks_before_it_shows_another_service(stage: Listening) -> None:
    """At each address of the recording; what plays or fetches it is led there as ever, without a referrer."""
    where = 'https://Other.example:8443/song?"><script>'
    await stage.music.add(put("ben", "track", 63, at=2005, audioUrl=where, access=OPEN))
    track = (await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', 63)}")).json
    number, file_id = track["id"], track["file_id"]

    for path in (
        f"/tracks/{number}/stream",
        f"/tracks/{number}/download",
        f"/audio/{file_id}",
        f"/audio/{file_id}/stream",
        f"/audio/{file_id}/download",
    ):
        for told in NAVIGATING:
            status, headers, body = await fetch(stage, path, **told)
            assert (status, "Location" in headers) == (200, False), (path, told)
            assert headers["Content-Type"].startswith("text/html")
            assert b"<bdi>other.example:8443</bdi>" in body
            assert b"<script>" not in body
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert headers["Referrer-Policy"] == "no-referrer"
            assert {"Accept", "Sec-Fetch-Dest", "Sec-Fetch-Mode"} <= set(headers["Vary"].split(", "))
        for told in PLAYING:
            status, headers, _ = await fetch(stage, path, **told)
            assert (status, headers["Referrer-Policy"]) == (302, "no-referrer"), (path, told)
            assert {"Accept", "Sec-Fetch-Dest", "Sec-Fetch-Mode"} <= set(headers["Vary"].split(", "))


async def test_no_page_leads_where_the_host_cannot_be_told(stage: Listening) -> None:
    """Browsers and libraries differ about such addresses."""
    for number, where in enumerate(
        ("https://good.example\\@evil.example/", "https://good.example@evil.example/"), start=64
    ):
        await stage.music.add(put("ben", "track", number, at=2000 + number, audioUrl=where, access=OPEN))
        found = await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', number)}")

        status, headers, _ = await fetch(stage, f"/tracks/{found.json['id']}/stream", **NAVIGATING[0])

        assert (status, "Location" in headers) == (404, False)


async def test_the_verifier_is_asked_only_where_it_matters(stage: Listening) -> None:
    """What everybody may have does not wait for it."""
    who = await stage.as_("ida")
    gated = await stage.publish(CONTENT[:9000], "mara", 60, access=OPEN | {"downloads": "supporters"})

    await fetch(stage, await stream(stage), **who)
    before = len(stage.asked)
    await fetch(stage, f"/tracks/{gated}/download", **who)

    assert (before, len(stage.asked)) == (0, 1)


async def test_nobody_is_led_to_what_is_no_web_address(stage: Listening) -> None:
    """Whatever stands in a record."""
    await stage.music.add(put("ben", "track", 59, at=2004, audioUrl="javascript:alert(1)", access=OPEN))
    found = await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', 59)}")

    status, headers, _ = await fetch(stage, f"/tracks/{found.json['id']}/stream")

    assert (status, "Location" in headers) == (404, False)


async def test_a_track_without_a_recording_says_so(stage: Listening) -> None:
    """It is there, and silent."""
    await stage.music.add(put("ben", "track", 56, at=2003))
    found = await stage.music.get(f"/tracks/by-uri?uri={uri('ben', 'track', 56)}")

    reply = await stage.music.get(f"/tracks/{found.json['id']}/stream")

    assert (reply.status, reply.json["message"]) == (404, "This track has no recording.")
