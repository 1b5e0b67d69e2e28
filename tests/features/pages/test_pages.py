"""Public pages and players over HTTP, from real stores."""

import json
import re
from html import unescape
from io import BytesIO
from urllib.parse import quote

import pytest
from PIL import Image

from schemas.ids import checked_id, record_id
from tests.features.pages.published import (
    BROKEN,
    HARBOUR,
    HOSTILE,
    PRIVATE,
    SLOW,
    SUPPORT,
    SUPPORTERS,
    UNLISTED,
    Published,
)
from tests.indexer.changes import did, uri

pytestmark = pytest.mark.asyncio(loop_scope="session")

ALBUM = "mara.example/ninety-nights"


async def test_pages_without_a_picture_have_drawn_ones_in_link_previews(site: Published):
    """Each another, the same each time, and of the size that the page says."""
    drawn: dict[str, bytes] = {}
    for path in ("/", "/new", "/tags", f"/u/{did('nameless')}"):
        page = await site.text(path)
        (address,) = re.findall(r'<meta property="og:image" content="([^"]+)">', page)
        for _ in range(2):
            async with site.get(address.removeprefix(site.address)) as answer:
                assert (answer.status, answer.content_type) == (200, "image/png")
                content = await answer.read()
            assert drawn.setdefault(address, content) == content
        with Image.open(BytesIO(content)) as picture:
            assert picture.size == (1200, 630)
        assert '<meta property="og:image:width" content="1200">' in page
    assert len(set(drawn.values())) == 4


def addresses(site: Published) -> list[str]:
    """Every page and player about something."""
    playlist = site.list("ben")
    return [
        f"/track/{site.track(SLOW)}",
        "/u/mara.example",
        "/u/mara.example/album/ninety-nights",
        f"/playlist/{playlist}",
        f"/embed/track/{site.track(SLOW)}",
        f"/embed/album/{ALBUM}",
        f"/embed/playlist/{playlist}",
    ]


async def test_every_page_may_be_framed_and_runs_only_our_scripts(site: Published):
    """One policy for all of them, no cookie, no other rule against frames."""
    for address in addresses(site):
        async with site.get(address) as answer:
            policy = answer.headers["Content-Security-Policy"].split("; ")
            assert answer.status == 200, address
            assert answer.content_type == "text/html"
            assert "default-src 'none'" in policy
            assert f"script-src 'self' {site.address}/static/" in policy
            assert "frame-ancestors *" in policy
            assert "X-Frame-Options" not in answer.headers
            assert "Set-Cookie" not in answer.headers
            assert answer.headers["ETag"]
            assert answer.headers["Cache-Control"].startswith("public")


async def test_head_tells_what_get_does(site: Published):
    """The same headers, and no body."""
    for address in addresses(site):
        async with site.get(address) as got, site.client.head(site.address + address) as told:
            assert told.status == 200
            assert await told.read() == b""
            for name in ("ETag", "Content-Length", "Content-Type", "Content-Security-Policy"):
                assert told.headers[name] == got.headers[name], (address, name)
            assert told.headers.get("Link") == got.headers.get("Link")


async def test_an_etag_saves_the_page(site: Published):
    """What has not changed is not sent again."""
    address = f"/embed/track/{site.track(SLOW)}"
    async with site.get(address) as answer:
        etag = answer.headers["ETag"]

    async with site.get(address, headers={"If-None-Match": etag}) as again:
        assert again.status == 304


async def test_everything_with_a_player_announces_its_oembed_document(site: Published):
    """In the page and in a header, and both lead to documents."""
    for address in addresses(site):
        if address == "/u/mara.example":
            continue
        async with site.get(address) as answer:
            page, header = await answer.text(), answer.headers["Link"]
        linked = re.findall(r'<link rel="alternate" type="(\S+)\+oembed" href="([^"]+)"', page)
        announced = re.findall(r'<([^>]+)>; rel="alternate"; type="([^"]+)\+oembed"', header)
        assert [media_type for media_type, _ in linked] == ["application/json", "text/xml"]
        assert [(kind, unescape(url)) for kind, url in linked] == [(kind, url) for url, kind in announced]
        for media_type, url in linked:
            async with site.client.get(unescape(url)) as document:
                assert (document.status, document.content_type) == (200, media_type)


async def test_json_ld_of_a_page_can_be_read(site: Published):
    """It names the recording, its artist, and where to hear it."""
    page = await site.text(f"/track/{site.track(SLOW)}")

    (script,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    told = json.loads(script)
    assert (told["@type"], told["name"], told["duration"]) == ("MusicRecording", "Slow Water", "PT30S")
    address = checked_id(str(uri("mara", "track", SLOW)))
    assert told["audio"]["contentUrl"] == f"{site.address}/tracks/{address}/stream"


@pytest.mark.parametrize("form", ["/track/{}", "/embed/track/{}"])
async def test_a_private_track_is_not_there(site: Published, form: str):
    """Not by its id and not by its uri; it looks as if it never was."""
    at_uri = quote(str(uri("mara", "track", PRIVATE)), safe="")
    for name in (site.track(PRIVATE), at_uri):
        async with site.get(form.format(name)) as answer:
            assert answer.status == 404
            assert (await answer.json())["detail"] == "not_found"


async def test_a_page_offers_downloads_and_support_as_its_artist_chose(site: Published):
    """A track's original, archives of lists, and the artist's own address."""
    lantern = checked_id(str(uri("jonas", "track")))
    pages = [await site.text(f"/track/{one}") for one in (site.track(SLOW), site.track(SUPPORTERS), lantern)]
    album = await site.text("/u/mara.example/album/ninety-nights")
    playlist = await site.text(f"/playlist/{site.list('ben')}")
    [whole] = re.findall(r'href="([^"]+/archive)">Download as ZIP</a></div>', playlist)
    [archive] = re.findall(
        r'href="([^"]+/archive)">Download as ZIP</a> <p class="facts">2 of 3 tracks', album
    )

    assert [f'href="{SUPPORT}"' in page for page in pages] == [True, True, False]
    offered = [re.findall(r'href="([^"]+/download)"', page) for page in pages]
    assert [len(links) for links in offered] == [1, 0, 1]
    for address in (archive, whole, offered[0][0]):
        async with site.get(address.removeprefix(site.address)) as answer:
            assert answer.status == 200, address
            assert answer.headers["Content-Disposition"].startswith("attachment"), address


async def test_private_and_unlisted_tracks_stay_out_of_lists(site: Published):
    """An artist's own pages show what is unlisted, playlists do not; nothing shows what is private."""
    album = await site.text(f"/u/{ALBUM.replace('/', '/album/')}")
    artist = await site.text("/u/mara.example")
    playlist = await site.text(f"/playlist/{site.list('ben')}")

    assert [title in artist for title in ("Slow Water", "Unlisted Song", "Private Song")] == [
        True,
        True,
        False,
    ]
    assert "Private Song" not in album
    assert [title in playlist for title in ("Harbour Lights", "Unlisted Song")] == [True, False]


async def test_an_unlisted_track_has_a_page_that_is_not_to_be_indexed(site: Published):
    """Whoever has its address may see and hear it."""
    page = await site.text(f"/track/{site.track(UNLISTED)}")

    assert '<meta name="robots" content="noindex">' in page
    assert "<audio" in page


async def test_what_strangers_may_not_hear_has_no_address_anywhere(site: Published):
    """Not on its page, in its player or its oEmbed document, though its record carries a blob."""
    track_id = site.track(SUPPORTERS)
    pages = [await site.text(f"/track/{track_id}"), await site.text(f"/embed/track/{track_id}")]
    oembed = await site.text(f"/oembed?url={site.address}/track/{track_id}")

    for page in pages:
        assert "Only supporters of Mara Lindqvist can listen." in page
        assert "<audio" not in page
        assert "getBlob" not in page
    assert "getBlob" not in oembed
    assert "Only supporters of Mara Lindqvist can listen." in await site.text(f"/embed/album/{ALBUM}")


async def test_records_go_by_their_uri_as_well(site: Published):
    """A percent-encoded at-uri in place of an id leads to the same page."""
    at_uri = quote(str(uri("mara", "track", SLOW)), safe="")
    playlist_uri = quote(str(uri("ben", "list")), safe="")

    assert await site.text(f"/track/{at_uri}") == await site.text(f"/track/{site.track(SLOW)}")
    assert await site.text(f"/playlist/{playlist_uri}") == await site.text(f"/playlist/{site.list('ben')}")


async def test_artists_without_a_handle_go_by_did(site: Published):
    """Links on their pages do, and lead somewhere."""
    page = await site.text(f"/u/{did('nameless')}")

    track_id = record_id(str(uri("nameless", "track")))
    assert f"{site.address}/track/{track_id}" in page
    assert f"{site.address}/u/{did('nameless')}/album/first" in page
    assert "Anonymous" in await site.text(f"/u/{did('nameless')}/album/first")


@pytest.mark.parametrize(
    "address",
    [
        "/track/1",
        "/track/x",
        "/track/99999999999999999999",
        "/track/at%3A%2F%2Fnobody",
        "/u/nobody.example",
        "/u/%F0%9F%8E%B5",
        "/u/%FF%ED%A0%80",
        "/track/%ED%A0%80",
        "/track/%D9%A7",
        "/u/mara.example/album/none",
        "/u/nobody.example/album/ninety-nights",
        "/playlist/none",
        "/playlist/5f0f7c3e-7f0d-5a6e-9a4e-5a7b7c3e7f0d",
        "/embed/track/1",
        "/embed/album/mara.example/none",
        "/embed/playlist/none",
        "/static/none.css",
        "/static/../pages/render.py",
    ],
)
async def test_what_is_not_there_is_404(site: Published, address: str):
    """JSON for programs, a page for people, the same code in both but for frames."""
    async with site.get(address) as answer:
        assert (answer.status, (await answer.json())["detail"]) == (404, "not_found")
    async with site.get(address, headers={"Accept": "text/html,*/*;q=0.8"}) as shown:
        assert shown.status == 404
        if address.startswith("/embed/"):
            assert "This is no longer available." in await shown.text()
        elif not address.startswith("/static/"):
            assert "not_found" in await shown.text()


async def test_an_artists_tracks_can_be_walked_through(site: Published):
    """A cursor of another list is refused."""
    async with site.get("/u/mara.example?cursor=x") as answer:
        assert (answer.status, (await answer.json())["detail"]) == (400, "invalid_cursor")


async def test_hostile_titles_are_text_on_every_page(site: Published):
    """The markup in a title shows as it was written."""
    escaped = "&lt;script&gt;alert(1)&lt;/script&gt;"
    for address in (
        f"/track/{site.track(HOSTILE)}",
        f"/embed/track/{site.track(HOSTILE)}",
        "/u/mara.example",
        f"/playlist/{site.list('ben')}",
    ):
        page = await site.text(address)
        assert "<script>alert" not in page
        assert escaped in page


async def test_static_files_are_kept_for_ever_and_readable_by_sandboxed_frames(site: Published):
    """Their names change with their content; a frame without an origin may load them."""
    page = await site.text(f"/embed/track/{site.track(BROKEN)}")

    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
    assert {file.rsplit(".", 1)[1] for file in files} == {"css", "js", "svg"}
    for file in files:
        async with site.get(file) as answer:
            assert answer.status == 200
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
            assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def test_the_home_page_and_the_description_lead_to_each_other(site: Published):
    """Neither needs scripts to say what there is."""
    assert 'href="/docs"' in await site.text("/")
    docs = await site.text("/docs")

    assert "GET /oembed" in docs
    assert "GET /tracks/{track_id}" in docs
    assert "/embed/track/" not in docs, "pages are for people"


async def test_lists_play_in_their_order(site: Published):
    """Album items first, then what belongs by name; the first that can be heard is loaded."""
    player = await site.text(f"/embed/album/{ALBUM}")

    titles = re.findall(r'<bdi class="title">([^<]+)</bdi>', player)
    assert titles == ["Slow Water", "For Supporters", "Harbour Lights"]
    assert HARBOUR > SLOW
