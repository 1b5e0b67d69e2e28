"""Pictures of records are served in sizes, from here, to whoever may see a record that names them."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from PIL import Image

from tests import documents
from tests.indexer.changes import did, put
from tests.readapi.audio.blob_server import Server, cid_of, serving_blobs
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import track_id


def picture(color: str) -> bytes:
    """A PNG of one colour."""
    made = io.BytesIO()
    Image.new("RGB", (400, 200), color).save(made, "PNG")
    return made.getvalue()


def image(content: bytes) -> documents.Document:
    """The reference to it in a record."""
    return documents.blob("image/png", len(content), content)


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[tuple[Listening, Server]]:
    """A worker, and the server that everybody is on."""
    async with serving_blobs() as (server, address), listening(tmp_path, plc_url=address) as stage:
        yield stage, server


def serve(server: Server, content: bytes) -> str:
    """Let the server have it; its path here."""
    server.blobs[cid_of(content)] = content
    return f"/img/{cid_of(content)}/300.webp"


async def test_a_picture_is_fetched_and_made_once(stage: tuple[Listening, Server]) -> None:
    """However many want it in whatever size; browsers keep it, other caches ask again."""
    (listening, server), red = stage, picture("red")
    path = serve(server, red)
    await listening.music.add(put("mara", "track", 50, at=1000, image=image(red)))

    replies = await asyncio.gather(*(listening.music.get(path) for _ in range(5)))
    small = await listening.music.get(path.replace("300", "96"))
    async with listening.music.client.get(listening.music.address + path) as answer:
        shown = Image.open(io.BytesIO(await answer.read()))

    assert {reply.status for reply in (*replies, small)} == {200}
    assert server.asked == 1
    assert (shown.format, shown.size) == ("WEBP", (300, 150))
    assert replies[0].headers["Content-Type"] == "image/webp"
    assert replies[0].headers["Cache-Control"] == "public, max-age=31536000, s-maxage=0, immutable"
    assert (await listening.music.get(path, If_None_Match=replies[0].headers["ETag"])).status == 304
    assert (await listening.music.get(path.replace("300", "301"))).status == 404


async def test_only_pictures_of_published_records_are_fetched(stage: tuple[Listening, Server]) -> None:
    """A private track's is there for its artist alone; of what no record names, no server is asked."""
    (listening, server), blue = stage, picture("blue")
    path, nobodys = serve(server, blue), serve(server, picture("green"))
    access = {"visibility": "private", "listening": "owner", "downloads": "off"}
    await listening.music.add(put("mara", "track", 50, at=1000, image=image(blue), access=access))

    assert (await listening.music.get(nobodys)).status == 404
    assert (await listening.music.get(path)).status == 404
    assert (await listening.music.get(path, **await listening.as_("ben"))).status == 404
    assert server.asked == 0
    own = await listening.music.get(path, **await listening.as_("mara"))
    assert (own.status, own.headers["Cache-Control"]) == (200, "private, no-cache")
    assert (await listening.music.get(path)).status == 404


async def test_what_is_no_picture_is_looked_at_once(stage: tuple[Listening, Server]) -> None:
    """Later requests for it cost neither a fetch nor a process."""
    (listening, server), broken = stage, picture("red")[:50]
    path = serve(server, broken)
    await listening.music.add(put("mara", "track", 50, at=1000, image=image(broken)))

    first, second = await listening.music.get(path), await listening.music.get(path)

    assert (first.status, second.status, server.asked) == (404, 404, 1)


async def test_of_accounts_with_the_same_picture_the_next_is_asked(stage: tuple[Listening, Server]) -> None:
    """Whose record came first may have lost the blob."""
    (listening, server), red = stage, picture("red")
    path = serve(server, red)
    server.others[did("ben")] = "http://127.0.0.1:9"
    await listening.music.add(
        put("ben", "track", 50, at=1000, image=image(red)),
        put("mara", "track", 51, at=1001, image=image(red)),
    )

    assert (await listening.music.get(path)).status == 200


async def test_takedowns_end_pictures(stage: tuple[Listening, Server]) -> None:
    """Of the record, of the account, and of the picture itself; also those that were made before."""
    (listening, server), red, blue = stage, picture("red"), picture("blue")
    paths = serve(server, red), serve(server, blue)
    await listening.music.add(
        put("mara", "track", 50, at=1000, image=image(red)),
        put("ben", "profile", at=1001, avatar=image(blue)),
    )
    assert [(await listening.music.get(path)).status for path in paths] == [200, 200]

    await listening.state.takedown_decisions.decide(did("ben"), "takedown", "Spam.", "test")
    await listening.state.takedown_decisions.decide(cid_of(red), "takedown", "Theirs.", "test")
    await asyncio.sleep(1)

    assert [(await listening.music.get(path)).status for path in paths] == [404, 404]


async def test_pages_show_pictures_of_this_service_alone(stage: tuple[Listening, Server]) -> None:
    """In sizes; a track without a picture shows its album's or its artist's, and links elsewhere none."""
    (listening, server), red = stage, picture("red")
    serve(server, red)
    await listening.music.add(
        put("mara", "track", 50, at=1000, image=image(red)),
        put("mara", "profile", at=1001, displayName="Mara", avatar=image(red)),
        put("mara", "track", 51, at=1002),
        put("ben", "track", 52, at=1003, imageUrl="https://elsewhere.example/cover.png"),
    )

    own, artists, elsewhere = [
        await listening.music.get(f"/track/{track_id(person, number)}", Accept="text/html")
        for person, number in (("mara", 50), ("mara", 51), ("ben", 52))
    ]

    address = f"{listening.music.address}/img/{cid_of(red)}"
    for page in (own, artists):
        assert f'src="{address}/300.webp" srcset="{address}/96.webp 96w' in page.json
        assert f'<meta property="og:image" content="{address}/800.webp">' in page.json
    assert "elsewhere.example" not in elsewhere.json.partition("<main")[2]
    (sources,) = [
        part for part in own.headers["Content-Security-Policy"].split("; ") if part.startswith("img-src")
    ]
    assert sources == f"img-src 'self' {listening.music.address}/img/"
