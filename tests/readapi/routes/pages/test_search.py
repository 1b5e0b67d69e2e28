"""What the page of a search costs, beside its JSON."""

import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from readapi.pages.assets import Assets
from readapi.pages.render import Renderer
from readapi.pages.urls import Addresses
from readapi.routes.api.search import search
from readapi.routes.pages.search import search_page
from readapi.state.state import State
from tests.indexer.changes import put
from tests.readapi.music import Music

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUERIES = ("common", "harbour song 7", "common harbour")
ROUNDS, TIMES = 40, 3


async def test_the_first_page_of_a_search_costs_at_most_two_and_a_half_times_its_json(music: Music) -> None:
    """In CPU time of one process, in turns, each at its best, among some hundred tracks.

    It is 1.9 times; the JSON of one of these queries is answered from memory.
    """
    music.write(
        *(put("mara", "track", 100 + n, at=200 + n, title=f"Common Harbour Song {n}") for n in range(300))
    )
    music.stores.index.refresh()
    index, renderer = music.stores.index, Renderer(Addresses(music.address), Assets())
    nobody: State = None  # type: ignore[assignment]  # a stranger has no preferences to be read
    pages = [lambda q=query: finish(search_page(index, nobody, None, renderer, q)) for query in QUERIES]
    json = [lambda q=query: search(q, index) for query in QUERIES]
    best = {"page": [1.0] * len(QUERIES), "json": [1.0] * len(QUERIES)}
    for _ in range(ROUNDS):
        for kind, asked in (("page", pages), ("json", json)):
            best[kind] = [min(known, seconds(ask)) for known, ask in zip(best[kind], asked, strict=True)]

    assert sum(best["page"]) <= 2.5 * sum(best["json"]), best


def finish(page: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        page.send(None)
    except StopIteration:
        return
    raise AssertionError("the page waited")


def seconds(ask: Callable[[], object]) -> float:
    """CPU seconds of asking a few times."""
    begin = time.process_time()
    for _ in range(TIMES):
        ask()
    return time.process_time() - begin
