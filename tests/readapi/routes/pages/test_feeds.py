"""Feeds hold what everybody may find, and audio only where everybody may listen."""

import xml.etree.ElementTree as ET
from email.utils import parsedate_to_datetime
from typing import Any

import feedparser
import orjson
import pytest

from tests.indexer.changes import did, put
from tests.readapi.music import Music

pytestmark = pytest.mark.asyncio(loop_scope="module")

ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
ATOM = "{http://www.w3.org/2005/Atom}"
FEEDS = ["/feeds/new", "/feeds/artist/mara.example", "/feeds/tag/feeding"]
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


@pytest.mark.parametrize("path", FEEDS)
async def test_a_reader_of_feeds_finds_no_fault(music: Music, path: str) -> None:
    """feedparser reads titles, times, durations and recordings."""
    await music.add(
        put(
            "mara", "track", 870, at=870, title="Parsed", tags=["feeding"], duration=61,
            audioUrl="https://audio.example/a.mp3",
        )
    )  # fmt: skip
    found = feedparser.parse((await music.get(f"{path}.xml")).json.encode())
    [parsed] = [entry for entry in found.entries if entry.title.endswith("Parsed")]

    assert not found.bozo
    assert parsed.itunes_duration == "61"
    assert parsed.published_parsed.tm_year == 2026
    [audio] = parsed.enclosures
    assert audio.type == "audio/mpeg"
    async with music.client.get(audio.href, allow_redirects=False) as answer:
        assert answer.status < 400


@pytest.mark.parametrize("page", ["/new", "/tag/feeding", "/u/mara.example"])
async def test_pages_name_their_feeds(music: Music, page: str) -> None:
    """Both forms, and both are there."""
    async with music.client.get(music.address + page, headers={"Accept": "text/html"}) as answer:
        found = [
            line.partition('href="')[2].partition('"')[0]
            for line in (await answer.text()).splitlines()
            if "application/rss+xml" in line or "application/feed+json" in line
        ]

    assert len(found) == 2
    for address in found:
        assert (await music.get(address.removeprefix(music.address))).status == 200


@pytest.mark.parametrize(
    "path", ["/feeds/artist/nobody.example.xml", "/feeds/tag/nothing.json", "/feeds/new.txt"]
)
async def test_what_is_not_there_has_no_feed(music: Music, path: str) -> None:
    assert (await music.get(path)).status == 404


async def test_a_feed_of_an_account_without_a_handle_goes_by_its_did(music: Music) -> None:
    await music.add(put("lost", "track", 860, at=860))

    assert (await rss(music, f"/feeds/artist/{did('lost')}")).findtext("link", "").endswith(did("lost"))
