"""Pages of lists follow each other, and hold together what their JSON does."""

import re
from html import unescape

import pytest

from tests.indexer.changes import like, put, uri
from tests.readapi.music import Music

pytestmark = pytest.mark.asyncio(loop_scope="module")

BROWSERS = {"Accept": "text/html,*/*;q=0.8"}
MOST_BYTES = 30 * 1024
HELD = re.compile(r'<bdi class="title">(.*?)</bdi>')
ONWARD = re.compile(r'href="([^"]+)" rel="next"')


async def walked(music: Music, path: str) -> list[list[str]]:
    """The titles on each page, from the first to the last."""
    address: str | None = path
    pages: list[list[str]] = []
    while address is not None:
        async with music.client.get(music.address + address, headers=BROWSERS) as answer:
            assert answer.status == 200
            page = await answer.text()
        assert len(page.encode()) <= MOST_BYTES
        pages.append([re.sub("<[^>]+>", "", title) for title in HELD.findall(page)])
        onward = ONWARD.search(page)
        following = None if onward is None else unescape(onward[1])
        address = following if following is None or following.startswith("/") else f"{path}{following}"
    return pages


def joined(pages: list[list[str]]) -> list[str]:
    """The titles of all pages."""
    return [title for page in pages for title in page]


async def test_pages_of_lists_and_of_results_show_everything_once(music: Music) -> None:
    """In the order of the JSON, by the links in the pages alone."""
    await music.add(
        *(
            put("mara", "track", 100 + number, title=f"Paged {number:02}", tags=["paged"], at=900 + number)
            for number in range(45)
        )
    )
    listed = (await music.get("/tracks/?limit=100")).json["tracks"]
    every = [track["title"] for track in listed]
    tagged = [track["title"] for track in (await music.get("/tracks/tags/paged")).json["tracks"]]
    found = (await music.get("/search/?q=paged&type=tracks&limit=50")).json["results"]

    new = await walked(music, "/new")
    assert [len(page) for page in new[:-1]] == [20] * (len(new) - 1)
    assert joined(new) == every
    assert joined(await walked(music, "/tag/paged")) == tagged
    results = await walked(music, "/search?q=paged&type=tracks")
    assert [len(page) for page in results] == [20, 20, 5]
    assert joined(results) == [track["title"] for track in found]


async def test_pages_of_the_most_liked_go_on_to_the_hundredth(music: Music) -> None:
    """Twenty on each, in the order of the JSON, each once; a cursor of another list is refused."""
    tracks = [
        put("mara", "track", 300 + number, title=f"Liked {number:03}", at=2000 + number)
        for number in range(105)
    ]
    liked = [
        like("ben", uri("mara", "track", 300 + number), 300 + number, at=3000 + number)
        for number in range(105)
    ]
    await music.add(*tracks, *liked)
    top = (await music.get("/tracks/top?period=all_time&limit=100")).json

    pages = await walked(music, "/top?period=all_time")

    assert [len(page) for page in pages] == [20] * 5
    assert joined(pages) == [track["title"] for track in top]
    foreign = (await music.get("/new", Accept="text/html")).json
    cursor = unescape(ONWARD.search(foreign)[1]).partition("cursor=")[2]  # type: ignore[index]
    assert (await music.get(f"/top?cursor={cursor}", Accept="text/html")).status == 400
