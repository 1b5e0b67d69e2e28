"""GET /oembed over HTTP: which addresses it knows, in which forms it answers, what it refuses."""

from html import escape
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from schemas.api.oembed import OEmbed
from schemas.ids import checked_id
from tests.features.pages.published import HOSTILE, MARKUP, PRIVATE, SLOW, SUPPORTERS, UNLISTED, Published
from tests.indexer.changes import did, uri

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def ask(site: Published, url: str, **parameters: str) -> tuple[int, dict[str, object]]:
    """The status and the JSON document."""
    async with site.get("/oembed", params={"url": url, **parameters}) as answer:
        return answer.status, await answer.json()


async def test_a_track_an_album_and_a_playlist_have_documents(site: Published):
    """Each with its own size and player; those without a picture have no thumbnail members."""
    playlist, track = site.list("ben"), site.track(SLOW)
    asked = {
        f"/track/{track}": (400, 165, f"/embed/track/{track}", 64),
        "/u/mara.example/album/ninety-nights": (400, 380, "/embed/album/mara.example/ninety-nights", None),
        f"/playlist/{playlist}": (400, 380, f"/embed/playlist/{playlist}", None),
        "/u/mara.example": (400, 380, "/embed/artist/mara.example", None),
    }

    for path, (width, height, player, image_width) in asked.items():
        status, told = await ask(site, site.address + path)
        document = OEmbed.model_validate(told)
        assert status == 200
        assert (document.width, document.height, document.thumbnail_width) == (width, height, image_width)
        assert f'src="{site.address}{player}"' in document.html


async def test_a_track_without_a_picture_has_its_albums(site: Published):
    """With its size, which a thumbnail must have; its page says the same, and an album's page the size."""
    name = checked_id(str(uri("nameless", "track")))
    _, told = await ask(site, f"{site.address}/track/{name}")
    track, album = await site.text(f"/track/{name}"), await site.text(f"/u/{did('nameless')}/album/first")

    assert (told["thumbnail_width"], told["thumbnail_height"]) == (64, 48)
    assert f'<meta property="og:image" content="{escape(str(told["thumbnail_url"]))}">' in track
    assert '<meta property="og:image:width" content="64">' in album


@pytest.mark.parametrize("form", ["{}/track/{}", "{}/embed/track/{}/", "{}/track/{}?a=b#t=3"])
async def test_every_way_to_write_an_address_gives_the_same_document(site: Published, form: str):
    """The page's, the player's, with or without ornaments."""
    plain = await ask(site, f"{site.address}/track/{site.track(SLOW)}")

    assert await ask(site, form.format(site.address, site.track(SLOW))) == plain
    assert await ask(site, str(uri("mara", "track", SLOW))) == plain
    assert await ask(site, str(uri("mara", "track", SLOW)).replace(did("mara"), "mara.example")) == plain


async def test_lists_go_by_their_uri(site: Published):
    """Albums and playlists are told apart by what they are."""
    _, album = await ask(site, str(uri("mara", "list")))
    _, playlist = await ask(site, str(uri("ben", "list")))
    _, nameless = await ask(site, f"{site.address}/u/{did('nameless')}/album/first")

    assert (album["title"], playlist["title"], nameless["title"]) == ("Ninety Nights", "Evening", "First")
    assert playlist["author_url"] == f"{site.address}/u/ben.example"


async def test_a_silent_track_can_be_embedded(site: Published):
    """Its player says why it is silent; an unlisted one plays."""
    assert (await ask(site, f"{site.address}/track/{site.track(SUPPORTERS)}"))[0] == 200
    assert (await ask(site, f"{site.address}/track/{site.track(UNLISTED)}"))[0] == 200


async def test_what_is_private_foreign_or_nothing_is_404(site: Published):
    """They cannot be told apart."""
    for url in (
        f"{site.address}/track/{site.track(PRIVATE)}",
        str(uri("mara", "track", PRIVATE)),
        "https://elsewhere.example/track/1",
        f"{site.address}/track/1",
        f"{site.address}/tag/ambient",
        f"{site.address}/tracks/{site.track(SLOW)}",
        str(uri("mara", "profile")),
        "at://",
        "at://mara.example",
        f"{site.address}/track/\ud7ff\ue000\u0667",
        f"{site.address}/playlist/none",
        "",
        "x" * 4000,
    ):
        status, told = await ask(site, url)
        assert (status, told["detail"]) == (404, "not_found"), url


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?maxwidth=10",
        "?url=x&maxwidth=0",
        "?url=x&maxheight=-1",
        "?url=x&maxwidth=wide",
        "?url=x&maxwidth=1e3",
    ],
)
async def test_missing_and_misfit_parameters_are_422(site: Published, query: str):
    """The field at fault is named."""
    async with site.get(f"/oembed{query}") as answer:
        told = await answer.json()

    assert (answer.status, told["detail"]) == (422, "invalid_request")
    assert told["errors"][0]["field"] in ("url", "maxwidth", "maxheight")


@pytest.mark.parametrize("form", ["yaml", "JSON", "jsonp", ""])
async def test_other_formats_are_501(site: Published, form: str):
    """As the protocol asks."""
    status, told = await ask(site, f"{site.address}/track/{site.track(SLOW)}", format=form)

    assert (status, told["detail"]) == (501, "format_not_supported")


async def test_xml_says_the_same_as_json(site: Published):
    """Also when a title is full of markup."""
    url = f"{site.address}/track/{site.track(HOSTILE)}"
    _, told = await ask(site, url, maxwidth="200")

    async with site.get(f"/oembed?format=xml&maxwidth=200&url={quote(url, safe='')}") as answer:
        parsed = ElementTree.fromstring(await answer.read())

    assert (answer.content_type, answer.charset) == ("text/xml", "utf-8")
    assert told["title"] == MARKUP
    assert {member.tag: member.text for member in parsed} == {
        name: str(value) for name, value in told.items()
    }


async def test_a_picture_larger_than_allowed_is_left_out(site: Published):
    """It is 64 by 48, and there is no smaller one."""
    url = f"{site.address}/track/{site.track(SLOW)}"
    _, wide = await ask(site, url, maxwidth="64", maxheight="48")
    _, narrow = await ask(site, url, maxwidth="63")

    assert (wide["thumbnail_width"], wide["thumbnail_height"]) == (64, 48)
    assert not [name for name in narrow if name.startswith("thumbnail")]
