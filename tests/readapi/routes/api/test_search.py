"""Search over HTTP: shapes, kinds, totals, pages."""

import itertools

import pytest

from schemas.api.search import SearchPage
from tests.indexer.changes import did

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_results_have_their_shapes(music):
    """Every kind that matches, best first, with the true totals."""
    for q in ("song", "mara", "first light", "evening", "ambient"):
        reply = await music.get(f"/search/?q={q}")

        page = SearchPage.model_validate(reply.json, strict=True)

        assert page.results, q
        relevances = [result.relevance for result in page.results]
        assert relevances == sorted(relevances, reverse=True)


async def test_unlisted_tracks_are_found_and_private_ones_never(music):
    """`counts` says the same as the results."""
    reply = await music.get("/search/?q=song&type=tracks&limit=50")

    titles = {result["title"] for result in reply.json["results"]}

    assert "Song 10" in titles
    assert "Song 11" not in titles
    assert reply.json["counts"]["tracks"] == len(titles) == 11


@pytest.mark.parametrize("types", ["type=artists,tags", "type=artists&type=tags", "type=tags,artists,tags"])
async def test_kinds_are_chosen_by_comma_or_by_repeating(music, types):
    """The others are counted all the same."""
    reply = await music.get(f"/search/?q=am&{types}")

    assert {result["type"] for result in reply.json["results"]} <= {"artist", "tag"}
    assert set(reply.json["counts"]) == {"tracks", "artists", "albums", "playlists", "tags"}


async def test_following_cursors_visits_every_result_once(music):
    """In the same order as all at once."""
    for sort in ("relevance", "recent", "popular"):
        path = f"/search/?q=song&type=tracks&sort={sort}"
        whole = (await music.get(f"{path}&limit=50")).json["results"]

        pages = await music.pages(f"{path}&limit=4", "results")

        assert list(itertools.chain(*pages)) == whole


async def test_a_search_may_be_narrowed(music):
    """To a tag, to an artist."""
    of_ben = await music.get(f"/search/?q=full&artist_did={did('ben')}&type=tracks")
    of_mara = await music.get(f"/search/?q=full&artist_did={did('mara')}&type=tracks")
    tagged = await music.get("/search/?q=song&tag=field%20recording&type=tracks")

    assert [result["title"] for result in of_ben.json["results"]] == ["Full"]
    assert of_mara.json["counts"]["tracks"] == 0
    assert tagged.json["counts"]["tracks"] == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "q"),
        ("q=a", "q"),
        (f"q={'a' * 101}", "q"),
        ("q=song&type=songs", "type"),
        ("q=song&type=", "type"),
        ("q=song&limit=51", "limit"),
        ("q=song&sort=newest", "sort"),
    ],
)
async def test_a_search_that_does_not_fit_is_refused(music, query, field):
    """422 names the parameter."""
    reply = await music.get(f"/search/?{query}")

    assert reply.status == 422
    assert [error["field"] for error in reply.json["errors"]] == [field]


@pytest.mark.parametrize(
    "q", ["🎵🎶", "AND OR NOT", '"""', "a:b c^9 ~2 [* TO *]", "%E2%80%AE%E2%80%AE", "''"]
)
async def test_any_text_may_be_looked_for(music, q):
    """Nothing in it is a command."""
    assert (await music.get(f"/search/?q={q}")).status == 200


async def test_a_cursor_of_nobodys_is_refused(music):
    """Whatever it looks like."""
    for cursor in ("x", "WzEsInNlYXJjaCIsInt9Il0", "WzEsInNlYXJjaCIsIm51bGwiXQ"):
        reply = await music.get(f"/search/?q=song&cursor={cursor}")

        assert (reply.status, reply.json["detail"]) == (400, "invalid_cursor")
