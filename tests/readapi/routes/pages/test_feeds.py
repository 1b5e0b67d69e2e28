"""Feeds hold what everybody may find, and audio only where everybody may listen."""

import io
import os
import re
import subprocess
import uuid
import xml.etree.ElementTree as ET
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import feedparser
import jsonfeedvalidator
import orjson
import podcastparser
import pytest
import xspf_lib

from readapi.state.state import open_state
from tests.indexer.changes import album, did, put, uri
from tests.network.testnet import NODE
from tests.readapi.audio.listening import OPEN, Listening
from tests.readapi.music import Music, public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
ATOM = "{http://www.w3.org/2005/Atom}"
XSPF = "{http://xspf.org/ns/0/}"
FEEDS = ["/feeds/new", "/feeds/artist/mara.example", "/feeds/tag/feeding"]
HELD = ["/feeds/album/mara.example/fed", f"/feeds/playlist/{public_list_id('ben', 880)}"]
CONSUMERS = Path(__file__).parents[3] / "consumers"
PODCASTS = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")
QUIET = {"LOG_LEVEL": "silent"}  # podcast-partytime's
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
    assert {enclosure.get("length", "none").isdecimal() for enclosure in channel.iter("enclosure")} <= {True}
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
@pytest.mark.slow
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
    assert audio.length == "0"  # not known
    async with music.client.get(audio.href, allow_redirects=False) as answer:
        assert answer.status < 400


@pytest.mark.parametrize("path", [*FEEDS, *HELD])
@pytest.mark.slow
async def test_readers_of_podcasts_find_every_recording(music: Music, path: str, tmp_path: Path) -> None:
    """gPodder's podcastparser, and from npm the Podcast Index's podcast-partytime, and feedsmith."""
    await add_lists(music)
    xml, feed = (await music.get(f"{path}.xml")).json, (await music.get(f"{path}.json")).json
    by_gpodder = podcastparser.parse(music.address, io.BytesIO(xml.encode()))
    by_others = read_by_node("feeds.mjs", tmp_path, xml, feed)
    heard = [
        (item["id"], item["attachments"][0]["url"])
        for item in orjson.loads(feed)["items"]
        if "attachments" in item
    ]

    assert len(heard) >= 2
    assert [
        (one["guid"], one["enclosures"][0]["url"]) for one in by_gpodder["episodes"] if one["enclosures"]
    ] == heard
    assert [tuple(one[:2]) for one in by_others["episodes"]] == heard
    assert [(guid, url) for guid, url, _ in by_others["items"] if url] == heard
    assert [(guid, url) for guid, url, *_ in by_others["feed"] if url] == heard
    assert "Parsed" in {title for _, _, title in by_others["items"]}
    assert by_others["podcast"]["medium"] == "music"
    without_scheme = f"{music.address}{path}.xml".partition("://")[2]
    assert by_others["podcast"]["guid"] == str(uuid.uuid5(PODCASTS, without_scheme))
    assert by_others["image"][0] == by_others["image"][1]


@pytest.mark.parametrize("path", [*FEEDS, *HELD])
@pytest.mark.slow
async def test_a_json_feed_is_valid(music: Music, path: str) -> None:
    """By the schema of version 1, but for the members that 1.1 added."""
    await add_lists(music)
    feed = await json_feed(music, path)
    for told in (feed, *feed["items"]):
        for added in ("authors", "language"):
            told.pop(added, None)

    assert [error.message for error in jsonfeedvalidator.validate_feed(feed)] == []
    assert jsonfeedvalidator.validate_feed({**feed, "items": None})


async def test_the_size_of_a_recording_is_told_where_it_is_known(music: Music, tmp_path: Path) -> None:
    """Of the original that everybody is sent; not where they are sent something else."""
    async with open_state(music.settings) as state:
        desk = Listening(music, state, set(), [])
        closed = {"listening": "public", "downloads": "off", "visibility": "public"}
        for number, access in ((890, OPEN), (891, closed)):
            await desk.publish(b"sound" * number, "ida", number, b"less", tags=["sized"], access=access)
    xml, feed = (
        (await music.get("/feeds/tag/sized.xml")).json,
        (await music.get("/feeds/tag/sized.json")).json,
    )
    read = read_by_node("feeds.mjs", tmp_path, xml, feed)
    async with music.client.get(read["episodes"][1][1]) as answer:
        sent = len(await answer.read())

    assert [size for _, _, size, _ in read["episodes"]] == [0, 5 * 890]  # 0: not known
    assert [size for _, _, size in read["feed"]] == [None, 5 * 890]
    assert sent == 5 * 890
    assert xml.count("length=") == 2


async def test_an_explicit_track_makes_its_feed_explicit(music: Music) -> None:
    """Applications hide the whole feed by what it says of itself."""
    labels = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "explicit"}]}
    await music.add(put("ida", "track", 895, at=895, tags=["said"], labels=labels))
    await music.add(put("ida", "track", 896, at=896, tags=["unsaid"]))

    assert (await rss(music, "/feeds/tag/said")).findtext(f"{ITUNES}explicit") == "true"
    assert (await rss(music, "/feeds/tag/unsaid")).findtext(f"{ITUNES}explicit") == "false"


@pytest.mark.parametrize("path", [*HELD, FEEDS[2]])
async def test_readers_of_playlists_find_the_same_recordings(music: Music, path: str, tmp_path: Path) -> None:
    """xspf-lib from PyPI, and m3u-parser-generator from npm."""
    await add_lists(music)
    xspf, m3u8 = (await music.get(f"{path}.xspf")).json, (await music.get(f"{path}.m3u8")).json
    (tmp_path / "list.xspf").write_text(xspf)
    by_xspf = xspf_lib.Playlist.parse(tmp_path / "list.xspf")
    by_m3u = read_by_node("playlists.mjs", tmp_path, m3u8)

    assert [track.location for track in by_xspf] == [[media["location"]] for media in by_m3u]
    assert [f"{track.creator} – {track.title}" for track in by_xspf] == [media["name"] for media in by_m3u]
    assert 61 in [media["duration"] for media in by_m3u]


def read_by_node(script: str, folder: Path, *documents: str) -> Any:
    """What a program with libraries from npm finds in documents."""
    if not (CONSUMERS / "node_modules" / "feedsmith").is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("feedsmith is not installed: npm --prefix tests/consumers ci --ignore-scripts")
    paths = [folder / f"document-{number}" for number in range(len(documents))]
    for path, text in zip(paths, documents, strict=True):
        path.write_text(text)
    command = [NODE, CONSUMERS / script, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **QUIET})
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout.splitlines()[-1])


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
@pytest.mark.slow
async def test_a_reader_that_has_a_feed_is_told_so(music: Music, path: str) -> None:
    """In every form: 304 without a body."""
    await add_lists(music)
    for form in FORMS:
        first = await music.get(f"{path}.{form}")
        again = await music.get(f"{path}.{form}", If_None_Match=first.headers["ETag"])
        assert (first.status, again.status, again.json) == (200, 304, ""), form


@pytest.mark.parametrize("page", ["/new", "/tag/feeding", "/u/mara.example", "/u/mara.example/album/fed"])
@pytest.mark.slow
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
