"""Ready answers: within their bytes, of one version."""

import tracemalloc

from readapi.answers import Answer, render_json
from readapi.http.response.cache import FEWEST_NOTED, AnswerCache, Kept

ONE_KILOBYTE = Kept(Answer(b"x" * 1000), "/x")


def keep(cache: AnswerCache, address: str, version: object, kept: Kept) -> None:
    """As for two requests in a row."""
    cache.keep(address, version, kept)
    cache.keep(address, version, kept)


def test_an_answer_is_kept_at_the_second_request_for_it() -> None:
    cache = AnswerCache(100_000)

    assert cache.find("/a", 1) is None
    cache.keep("/a", 1, ONE_KILOBYTE)
    assert cache.find("/a", 1) is None
    cache.keep("/a", 1, ONE_KILOBYTE)
    assert cache.find("/a", 1) is ONE_KILOBYTE


def test_what_was_asked_for_before_is_kept_at_once_in_a_new_version() -> None:
    """Under load there are several versions a second."""
    cache = AnswerCache(100_000)
    cache.find("/a", 1)
    keep(cache, "/a", 1, ONE_KILOBYTE)
    cache.find("/a", 2)
    cache.keep("/a", 2, ONE_KILOBYTE)

    assert cache.find("/a", 2) is ONE_KILOBYTE


def test_a_crawler_leaves_what_others_ask_for() -> None:
    """It asks for each address once."""
    cache = AnswerCache(10_000)
    cache.find("/a", 1)
    keep(cache, "/a", 1, ONE_KILOBYTE)
    for number in range(20_000):
        assert cache.find(f"/{number}", 1) is None
        cache.keep(f"/{number}", 1, ONE_KILOBYTE)

    assert cache.find("/a", 1) is ONE_KILOBYTE


def test_addresses_are_noted_in_bounds() -> None:
    """Those of long ago are forgotten, however many different ones are asked for."""
    cache = AnswerCache(10_000)
    cache.find("/first", 1)
    cache.keep("/first", 1, ONE_KILOBYTE)
    for number in range(FEWEST_NOTED - 1):
        cache.keep(f"/{number}", 1, ONE_KILOBYTE)
    cache.keep("/late", 1, ONE_KILOBYTE)
    cache.keep("/0", 1, ONE_KILOBYTE)
    tracemalloc.start()
    try:
        for number in range(10 * FEWEST_NOTED):
            cache.keep(f"/other/{number}", 1, ONE_KILOBYTE)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    cache.keep("/first", 1, ONE_KILOBYTE)

    assert cache.find("/0", 1) is ONE_KILOBYTE
    assert cache.find("/first", 1) is None
    assert taken < 2 * FEWEST_NOTED * 150


def test_an_answer_is_found_again_under_its_version_only() -> None:
    """A version that moved on empties the cache."""
    cache = AnswerCache(100_000)
    cache.find("/a", 1)
    keep(cache, "/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 1) is ONE_KILOBYTE
    assert cache.find("/a", 2) is None
    assert cache.find("/a", 1) is None
    assert cache.bytes == 0


def test_an_answer_made_from_an_older_version_is_not_kept() -> None:
    """The stores moved on while it was made."""
    cache = AnswerCache(100_000)
    cache.find("/a", 2)

    keep(cache, "/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 2) is None


def test_the_longest_unused_go_first() -> None:
    """The cache never holds more bytes than it may."""
    cache = AnswerCache(10_000)
    cache.find("/0", 1)
    for number in range(20):
        keep(cache, f"/{number}", 1, ONE_KILOBYTE)
        cache.find("/0", 1)

    assert cache.bytes <= 10_000
    assert cache.find("/0", 1) is not None
    assert cache.find("/19", 1) is not None
    assert cache.find("/1", 1) is None


def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    """Switched off, it is harmless."""
    cache = AnswerCache(0)
    cache.find("/a", 1)

    keep(cache, "/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 1) is None


def test_equal_bytes_have_equal_etags() -> None:
    """Whichever worker made them."""
    assert ONE_KILOBYTE.etag == Kept(Answer(b"x" * 1000), "/x").etag != Kept(Answer(b"y" * 1000), "/x").etag


def test_what_an_etag_was_made_of_is_not_kept() -> None:
    """The tag of a page of results is as long as the page."""
    page, same = (Kept(Answer(body, tag=b"x" * 1000), "/x") for body in (b"y" * 1000, b"z" * 1000))
    cache = AnswerCache(1 << 20)
    cache.find("/x", 1)

    keep(cache, "/x", 1, page)

    assert page.etag == same.etag
    kept = cache.find("/x", 1)
    assert kept is not None
    assert kept.answer == Answer(b"y" * 1000)


def test_small_answers_take_no_more_memory_than_is_counted() -> None:
    """A serializer's buffer may be many times as long as what was written to it."""
    cache = AnswerCache(1 << 20)
    cache.find("/0", 1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(2_000):
            kept = Kept(Answer(render_json({"number": number, "text": "x" * 300})), "/")
            keep(cache, f"/{number}", 1, kept)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert taken <= cache.bytes
