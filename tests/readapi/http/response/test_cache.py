"""Ready answers: within their bytes, of one version."""

import tracemalloc

from readapi.answers import Answer, render_json
from readapi.http.response.cache import AnswerCache, Kept

ONE_KILOBYTE = Kept(Answer(b"x" * 1000), "/x")


def test_an_answer_is_found_again_under_its_version_only():
    """A version that moved on empties the cache."""
    cache = AnswerCache(100_000)
    cache.find("/a", 1)
    cache.keep("/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 1) is ONE_KILOBYTE
    assert cache.find("/a", 2) is None
    assert cache.find("/a", 1) is None
    assert cache.bytes == 0


def test_an_answer_made_from_an_older_version_is_not_kept():
    """The stores moved on while it was made."""
    cache = AnswerCache(100_000)
    cache.find("/a", 2)

    cache.keep("/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 2) is None


def test_the_longest_unused_go_first():
    """The cache never holds more bytes than it may."""
    cache = AnswerCache(10_000)
    cache.find("/0", 1)
    for number in range(20):
        cache.keep(f"/{number}", 1, ONE_KILOBYTE)
        cache.find("/0", 1)

    assert cache.bytes <= 10_000
    assert cache.find("/0", 1) is not None
    assert cache.find("/19", 1) is not None
    assert cache.find("/1", 1) is None


def test_a_cache_of_no_bytes_keeps_nothing():
    """Switched off, it is harmless."""
    cache = AnswerCache(0)
    cache.find("/a", 1)

    cache.keep("/a", 1, ONE_KILOBYTE)

    assert cache.find("/a", 1) is None


def test_equal_bytes_have_equal_etags():
    """Whichever worker made them."""
    assert ONE_KILOBYTE.etag == Kept(Answer(b"x" * 1000), "/x").etag != Kept(Answer(b"y" * 1000), "/x").etag


def test_what_an_etag_was_made_of_is_not_kept():
    """The tag of a page of results is as long as the page."""
    page, same = (Kept(Answer(body, tag=b"x" * 1000), "/x") for body in (b"y" * 1000, b"z" * 1000))
    cache = AnswerCache(1 << 20)
    cache.find("/x", 1)

    cache.keep("/x", 1, page)

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
            cache.keep(f"/{number}", 1, Kept(Answer(render_json({"number": number, "text": "x" * 300})), "/"))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert taken <= cache.bytes
