"""The tiers of a search: which includes which, and the same matches however they are asked for."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest
from tantivy import Query

from readapi.index import folder
from readapi.index.cursors import encode_cursor, read_text
from readapi.index.folder import exclude_query
from readapi.index.search import tier, tiers
from readapi.index.search.execute import Search, execute_search
from readapi.index.search.parameters import ORDER
from readapi.index.search.query import QueryWords
from readapi.index.search.tier import INCLUDED_IN, Tier
from readapi.index.search.tiers import Tiers
from schemas.recent import Recent
from tests.readapi.indexed import Indexed, artist_documents, person, track_documents

WORDS = ("night", "rain", "rains", "harbour", "cold", "nights", "ra", "étoile", "東京", "nightrain")
TEXTS = [
    *("night", "rain", "ra", "nigh", "rains", "cold", "nihgt", "étoile", "東京", "hrabour", "night "),
    *("night rain", "rain night", "cold rain", "night rian", "cold harbour rain", "the night"),
]
LONG = [
    "night rain cold harbour rains étoile",
    "étoile rains harbour cold rain nights",
    "night rain cold harbuor rains étoile",
    "night rain cold harbour rains étoile nights unheard",
    "unheard words that are nowhere at all",
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    """Names of few words, so that most texts match much, in all tiers and kinds."""
    index, rng = Indexed(tmp_path_factory.mktemp("filled")), random.Random(5)
    ana = person("ana", "Night Rain")
    index.write(
        track_documents(
            key,
            " ".join(rng.choices(WORDS, k=rng.randint(1, 6))).title(),
            ana,
            likes=rng.randrange(40),
            album=rng.choice((None, "Rain", "Cold Night")),
            description=rng.choice(("", "A night of rain.")),
        )
        for key in range(1, 1501)
    )
    index.write([track_documents(key, text.title(), ana) for key, text in enumerate(LONG[:2], 1501)])
    names = (" ".join(pair) for pair in pairwise(rng.choices(WORDS, k=120)))
    index.write([artist_documents(person(f"p{number}", name.title())) for number, name in enumerate(names)])
    yield index
    index.close()


@pytest.mark.parametrize("text", [*TEXTS, *LONG])
def test_a_tier_includes_what_it_is_said_to(filled, text):
    """Else matches of one would come again in another, or not at all."""
    words = filled.index.words
    found = Tiers(words, QueryWords.read(text))

    for inner, outer in INCLUDED_IN.items():
        query, wider = found.query(inner), found.query(outer)
        if query is not None:
            assert wider is not None, inner
            assert words.count(exclude_query(query, wider)) == 0, inner


def test_what_another_tier_includes_is_not_asked_for_again(filled):
    """All that the tiers find is still found."""
    words = filled.index.words
    found = Tiers(words, QueryWords.read("night rain"))
    better = range(Tier.WORDS_IN_NAMES)
    every = [query for tier in better if (query := found.query(tier)) is not None]

    widest = found.widest(better)

    assert len(widest) < len(every)
    assert words.count(exclude_query(Query.all_query(), *widest)) == words.count(
        exclude_query(Query.all_query(), *every)
    )


@pytest.mark.parametrize("text", TEXTS)
def test_sizes_read_from_matches_tell_what_the_index_does(filled, monkeypatch, text):
    """All pages are the same, however much of a search is asked of the index."""
    monkeypatch.setattr(filled.index.words, "_first_pages", Recent(0))
    monkeypatch.setattr(filled.index.words, "_kinds", Recent(0))
    read = results_and_totals(filled, text)

    monkeypatch.setattr(tier, "SETTLED", range(0))
    monkeypatch.setattr(folder, "_FEW", 0)

    assert results_and_totals(filled, text) == read


@pytest.mark.parametrize("most", [1, 4])
def test_kinds_are_counted_also_where_many_matches_are_no_tracks(filled, monkeypatch, most):
    """More than the ids that are read."""
    monkeypatch.setattr(filled.index.words, "_kinds", Recent(0))
    totals = execute_search(filled.index, Search("night rain"), None, 20).counts

    monkeypatch.setattr(folder, "_MOST_OTHERS", most)

    assert totals["artist"] > most
    assert execute_search(filled.index, Search("night rain"), None, 20).counts == totals


def test_a_document_with_a_word_and_its_typo_counts_once(tmp_path):
    """It is a match both with and without a typo."""
    index, ana = Indexed(tmp_path), person("ana", "Ana")
    index.write(track_documents(key, "Harbour Harbuor", ana) for key in range(1, 31))
    index.write(track_documents(key, "Harbuor Song", ana) for key in range(100, 400))

    found = execute_search(index.index, Search("harbour"), None, 20)
    index.close()

    assert found.counts["track"] == 330


@pytest.mark.parametrize("text", LONG)
def test_texts_of_many_words_find_the_same_as_if_they_were_few(filled, monkeypatch, text):
    """Documents that cannot be there are only left out of what is asked."""
    found = results_and_totals(filled, text)

    monkeypatch.setattr(tiers, "_MANY_WORDS", 100)

    assert results_and_totals(filled, text) == found


def test_texts_of_many_words_are_found_as_typed_and_with_a_typo(filled):
    """Both halves of the words are somewhere, or one is."""
    assert filled.titles(LONG[0])[0] == LONG[0].title()
    assert LONG[0].title() in filled.titles(LONG[2])


@pytest.mark.parametrize("tier", [12, 17, 2**63])
def test_a_cursor_after_the_last_tier_ends_the_search(filled, tier):
    """Its tier is a number that anybody may write."""
    after = read_text(encode_cursor(ORDER, f'[0,{{"track":[{tier},1,1]}}]'), ORDER)

    found = execute_search(filled.index, Search("night"), after, 20)

    assert (found.results, found.after) == ([], None)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 50])
def test_a_name_in_the_other_number_is_on_one_page(tmp_path, limit):
    """Though another name of the same artist is nearly the text, which is the better match."""
    index = Indexed(tmp_path)
    ana = person("ana", "Ana")
    index.write(
        track_documents(key, f"Song {key}", ana, description="About nights.") for key in range(1, 301)
    )
    nearly = [person(f"a{end}", f"Nights{end}") for end in ("a", "ab", "abc")]
    both = replace(person("both", "Nightsong"), handle="night.example")
    index.write([*(artist_documents(artist, 1) for artist in nearly), artist_documents(both, 1000)])

    pages = index.pages(Search("nights", kinds=("artist",)), limit)
    found = [orjson.loads(result)["display_name"] for page in pages for result in page.results]
    index.close()

    assert found[0] == "Nightsong"
    assert sorted(found) == ["Nightsa", "Nightsab", "Nightsabc", "Nightsong"]


@pytest.mark.parametrize("limit", [10, 40, 50])
def test_a_match_that_is_also_the_beginning_of_a_name_is_on_one_page(tmp_path, limit):
    """An album has a word a typo apart, and the title begins so but for a typo; further pages are walked."""
    index, ana = Indexed(tmp_path), person("ana", "Ana")
    in_text = [track_documents(key, "Song", ana, description="About nigth.") for key in range(30)]
    both = [track_documents(key, "Nightly", ana, likes=50, album="Night") for key in range(100, 130)]
    one = [track_documents(key, "Xylos", ana, album="Night") for key in range(200, 230)]
    longer = [track_documents(key, "Blue Night Wind", ana) for key in range(300, 390)]
    index.write([*in_text, *both, *one, *longer])

    pages = index.pages(Search("nigth", kinds=("track",)), limit)
    found = [orjson.loads(result)["title"] for page in pages for result in page.results]
    index.close()

    assert found == [*["Song"] * 30, *["Nightly"] * 30, *["Xylos"] * 30, *["Blue Night Wind"] * 90]


def results_and_totals(indexed: Indexed, text: str) -> list[tuple[list[bytes], dict[Any, int]]]:
    """Of all pages of a search."""
    return [(page.results, page.counts) for page in indexed.pages(Search(text))]
