"""Feeds hold what everybody may find, and audio only where everybody may listen."""

import re
import xml.etree.ElementTree as ET
from email.utils import parsedate_to_datetime
from typing import Any

import feedparser
import orjson
import pytest

from tests.indexer.changes import album, did, put, uri
from tests.readapi.music import Music, public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
ATOM = "{http://www.w3.org/2005/Atom}"
XSPF = "{http://xspf.org/ns/0/}"
FEEDS = ["/feeds/new", "/feeds/artist/mara.example", "/feeds/tag/feeding"]
HELD = ["/feeds/album/mara.example/fed", f"/feeds/playlist/{public_list_id('ben', 880)}"]
FORMS = ("xml", "json", "m3u8", "xspf", "jspf")
HOSTILE = "]]></title><script>alert(1)</script> & \u202e\x0b"
AUDIENCES = [
    (listening, visibility)
    for listening in ("public", "signed_in", "supporters", "owner")
    for visibility in ("public", "unlisted", "private")
]


async def rss(music: Music, path: str) -> ET.Element:
    reply = await music.get(f"{path}.xml")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/rss+xml; charset=utf-8")
    channel = ET.fromstring(reply.json.encode()).find("channel")
    assert channel is not None
    return channel


async def json_feed(music: Music, path: str) -> dict[str, Any]:
    reply = await music.get(f"{path}.json")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/feed+json")
    return dict(orjson.loads(reply.json))


@pytest.mark.parametrize("path", FEEDS)
async def test_a_feed_tells_no_more_than_everybody_may_know(music: Music, path: str) -> None:
    """In each of its forms, of each audience that there is."""
    await music.add(
        *(
            put(
                "mara", "track", 800 + number, at=800 + number, tags=["feeding"],
                title=f"Feeding {listening} {visibility}", audioUrl="https://audio.example/a.mp3",
                access={"listening": listening, "downloads": "off", "visibility": visibility},
            )
            for number, (listening, visibility) in enumerate(AUDIENCES)
        )
    )  # fmt: skip
    channel, feed = await rss(music, path), await json_feed(music, path)

    titles = [item.findtext("title", "").partition("Feeding ")[2] for item in channel.iter("item")]
    heard = {
        item.findtext("title", "").partition("Feeding ")[2]
        for item in channel.iter("item")
        if item.find("enclosure") is not None
    }
    assert sorted(filter(None, titles)) == sorted(
        f"{listening} {visibility}" for listening, visibility in AUDIENCES if visibility == "public"
    )
    assert heard & set(filter(None, titles)) == {"public public"}
    assert [item["id"] for item in feed["items"]] == [item.findtext("guid") for item in channel.iter("item")]
    assert [("attachments" in item) for item in feed["items"]] == [
        item.find("enclosure") is not None for item in channel.iter("item")
    ]


async def test_hostile_texts_stay_texts(music: Music) -> None:
    """And the feed can be read."""
    await music.add(put("mara", "track", 850, at=850, title=HOSTILE, description=HOSTILE, tags=["feeding"]))
    channel = await rss(music, "/feeds/tag/feeding")

    item = next(item for item in channel.iter("item") if "script" in item.findtext("title", ""))
    assert item.findtext("title", "").endswith("]]></title><script>alert(1)</script> &")
    assert "\x0b" not in item.findtext("description", "")
    assert not list(channel.iter("script"))


async def test_what_applications_need_is_there(music: Music) -> None:
    """Addresses of itself and of the page, times, who made it."""
    channel, feed = await rss(music, "/feeds/artist/mara.example"), await json_feed(music, "/feeds/new")
    item = next(channel.iter("item"))
    link = channel.find(f"{ATOM}link")

    assert channel.findtext("link") == f"{music.address}/u/mara.example"
    assert link is not None
    assert link.get("href") == f"{music.address}/feeds/artist/mara.example.xml"
    assert parsedate_to_datetime(item.findtext("pubDate", "")).tzinfo is not None
    assert item.findtext(f"{ITUNES}explicit") in ("true", "false")
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["home_page_url"] == f"{music.address}/new"


@pytest.mark.parametrize("path", [*FEEDS, *HELD])
async def test_a_reader_of_feeds_finds_no_fault(music: Music, path: str) -> None:
    """feedparser reads titles, times, durations and recordings."""
    await add_lists(music)
    found = feedparser.parse((await music.get(f"{path}.xml")).json.encode())
    [parsed] = [entry for entry in found.entries if entry.title.endswith("Parsed")]

    assert not found.bozo
    assert found.feed.author
    assert found.feed.tags[0].term == "Music"
    assert parsed.itunes_duration == "61"
    assert parsed.published_parsed.tm_year == 2026
    [audio] = parsed.enclosures
    assert audio.type == "audio/mpeg"
    assert "length" not in audio
    async with music.client.get(audio.href, allow_redirects=False) as answer:
        assert answer.status < 400


async def add_lists(music: Music) -> None:
    """An album and a playlist of one hostile track, one without audio for strangers, and a plain one."""
    restricted = {"listening": "signed_in", "downloads": "off", "visibility": "public"}
    shared: dict[str, Any] = {"tags": ["feeding"], "audioUrl": "https://audio.example/a.mp3"}
    held = [uri("mara", "track", number) for number in (871, 872, 870)]
    await music.add(
        put("mara", "track", 870, at=870, title="Parsed", duration=61, **shared),
        put("mara", "track", 871, at=871, title=f"{HOSTILE}\n#EXTINF:1,x\nhttps://evil.example/", **shared),
        put("mara", "track", 872, at=872, title="For accounts", access=restricted, **shared),
        album("mara", held, 881, at=881, name="Fed", description=HOSTILE),
        album("ben", held, 880, at=880, name=f"Fed too {HOSTILE}", listType="playlist"),
    )


@pytest.mark.parametrize("path", [*HELD, FEEDS[2]])
async def test_playlist_files_hold_what_everybody_may_hear(music: Music, path: str) -> None:
    """Each form the same, in order, and no text of a record becomes a line or an element of its own."""
    await add_lists(music)
    m3u8, xspf, jspf = [(await music.get(f"{path}.{form}")) for form in ("m3u8", "xspf", "jspf")]
    root, listed = ET.fromstring(xspf.json.encode()), orjson.loads(jspf.json)["playlist"]
    tracks = root.findall(f"{XSPF}trackList/{XSPF}track")
    lines = m3u8.json.splitlines()

    assert [reply.headers["Content-Type"].partition(";")[0] for reply in (m3u8, xspf, jspf)] == [
        "audio/x-mpegurl",
        "application/xspf+xml",
        "application/jspf+json",
    ]
    for reply, form in ((m3u8, "m3u8"), (xspf, "xspf"), (jspf, "jspf")):
        assert f'.{form}"' in reply.headers["Content-Disposition"]
    heard = [line for line in lines if not line.startswith("#")]
    assert heard == [track.findtext(f"{XSPF}location") for track in tracks]
    assert heard == [track["location"][0] for track in listed["track"]]
    assert all(address.startswith(f"{music.address}/tracks/") for address in heard)
    titles = [track["title"] for track in listed["track"]]
    assert titles == [track.findtext(f"{XSPF}title") for track in tracks]
    assert "For accounts" not in titles
    assert len(lines) == 2 + 2 * len(titles)
    assert "#EXTINF:61,mara – Parsed".casefold() in m3u8.json.casefold()
    assert next(track for track in listed["track"] if track["title"] == "Parsed")["duration"] == 61_000
    assert root.findtext(f"{XSPF}location") == f"{music.address}{path}.xspf"
    if path in HELD:
        assert titles[-1] == "Parsed"
        assert [one.get("version") for one in (root,)] == ["1"]


@pytest.mark.parametrize("path", [*FEEDS, *HELD])
async def test_a_reader_that_has_a_feed_is_told_so(music: Music, path: str) -> None:
    """In every form: 304 without a body."""
    await add_lists(music)
    for form in FORMS:
        first = await music.get(f"{path}.{form}")
        again = await music.get(f"{path}.{form}", If_None_Match=first.headers["ETag"])
        assert (first.status, again.status, again.json) == (200, 304, ""), form


@pytest.mark.parametrize("page", ["/new", "/tag/feeding", "/u/mara.example", "/u/mara.example/album/fed"])
async def test_pages_name_their_feeds(music: Music, page: str) -> None:
    """In their heads and for people to see; and each is there."""
    await add_lists(music)
    async with music.client.get(music.address + page, headers={"Accept": "text/html"}) as answer:
        shown = await answer.text()
    head, body = shown.split("</head>")
    found = re.findall(r'<link rel="alternate" type="[^"]+" href="([^"]+/feeds/[^"]+)"', head)

    assert [address.rpartition(".")[2] for address in found] == list(FORMS)
    for address in found:
        assert f'href="{address}"' in body
        assert (await music.get(address.removeprefix(music.address))).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/feeds/artist/nobody.example.xml",
        "/feeds/tag/nothing.json",
        "/feeds/new.txt",
        "/feeds/album/mara.example/nothing.m3u8",
        "/feeds/playlist/1.xspf",
    ],
)
async def test_what_is_not_there_has_no_feed(music: Music, path: str) -> None:
    assert (await music.get(path)).status == 404


async def test_a_feed_of_an_account_without_a_handle_goes_by_its_did(music: Music) -> None:
    await music.add(put("lost", "track", 860, at=860))

    assert (await rss(music, f"/feeds/artist/{did('lost')}")).findtext("link", "").endswith(did("lost"))
