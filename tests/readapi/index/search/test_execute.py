"""Searches find what people mean, best first; any text may be searched for."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer.search.documents.fields import Documents
from readapi.errors import InvalidCursor
from readapi.index.search import matches
from readapi.index.search.execute import Search, execute_search
from readapi.index.search.suggest import MOST, suggest_names
from schemas.api.search import SearchPage
from schemas.recent import Recent
from schemas.search_index import ADULT, KINDS
from tests.readapi.indexed import Indexed, artist_documents, person, tag_documents, track_documents

ANA, BEN = person("ana", "Ana Ray"), person("ben", "Beñat Étoile")


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    """A few tracks, each found by another tier of one search."""
    index = Indexed(tmp_path_factory.mktemp("stocked"))
    index.write(
        [
            track_documents(1, "Night Rain", ANA, likes=0),
            track_documents(2, "Night Rain over the Harbour", ANA, likes=5),
            track_documents(3, "Cold Rain at Night", ANA, likes=50),
            track_documents(4, "Rain", ANA, likes=500, album="The Night"),
            track_documents(5, "Sun", ANA, likes=5000, description="Made in a night of rain."),
            track_documents(6, "Nigth Rain", BEN, likes=50_000),
            track_documents(7, "Might of Rain", BEN, likes=500_000),
            track_documents(8, "Something Else", BEN, likes=5_000_000),
            track_documents(9, "夜の東京", BEN),
            track_documents(10, "Déjà Vu", BEN, visibility="unlisted"),
            track_documents(11, "Night Rain, private", BEN, visibility="private", listening="space"),
            track_documents(12, "<b>Bold</b> & Beautiful", BEN),
            track_documents(13, "!!!", ANA),
            track_documents(14, "demo.wav", ANA, tags=["field recording"]),
            artist_documents(ANA, 10),
            artist_documents(BEN),
            tag_documents("field recording"),
        ]
    )
    yield index
    index.close()


def test_tiers_come_in_their_order(stocked):
    """Exact, prefix, words of the title, of the names, of the text, then typos: popularity decides within."""
    assert stocked.titles("night rain") == [
        "Night Rain",
        "Night Rain over the Harbour",
        "Cold Rain at Night",
        "Rain",
        "Sun",
        "Nigth Rain",
        "Might of Rain",
    ]


def test_a_typo_at_the_end_of_a_long_word_is_counted(tmp_path):
    """Many names begin with the letters before it, as far as beginnings are terms."""
    index = Indexed(tmp_path)
    index.write(track_documents(key, f"Weihnachtsgeschichte {key}", ANA, likes=key) for key in range(1, 301))
    index.write([artist_documents(person("cyd", "Weihnachtsgeschichte"))])

    found = execute_search(index.index, Search("weihnachtsgeschixhte"), None, 20)

    assert found.counts["track"] == 300
    assert found.counts["artist"] == 1
    assert sum(b'"type":"artist"' in result for result in found.results) == 1
    index.close()


def test_many_matches_of_two_words_come_tier_by_tier_in_the_same_order(tmp_path, monkeypatch):
    """And each once, on all pages."""
    index = Indexed(tmp_path)
    titles = ["Night Rain {}", "Rain at Night {}", "Rain {} of the Night", "Night {}"]
    index.write(
        track_documents(
            key, titles[key % 4].format(key), ANA, likes=key % 7, album="Rain" if key % 3 else None
        )
        for key in range(1, 801)
    )

    def pages() -> list[tuple[list[bytes], object]]:
        return [(page.results, page.counts) for page in index.pages(Search("night rain"))]

    monkeypatch.setattr(index.index.words, "_first_pages", Recent(0))
    at_once = pages()
    monkeypatch.setattr(matches, "MANY", 100)
    assert pages() == at_once
    assert sum(len(results) for results, _ in at_once) > 160
    index.close()


@pytest.mark.slow
def test_the_first_page_of_many_matches_is_remembered_until_the_index_changes(tmp_path, monkeypatch):
    """Of each search apart, whatever tells it from others."""
    index, titles = Indexed(tmp_path), ("Echo Hall {}", "Echo Night {}", "Echo Sea")
    index.write(
        track_documents(key, titles[key % 3].format(key), ANA if key % 4 else BEN, likes=key % 50)
        for key in range(1, 801)
    )
    shown, words = track_documents(900, "Echo", BEN, likes=49)
    assert words is not None
    index.write([Documents(shown, {**words, "kind": ["track", ADULT]})])
    index.write([artist_documents(person("cyd", "Echo")), artist_documents(person("eve", "Echo Hall"))])
    asked = [
        (Search(text, kinds=kinds, sort=sort, adult=adult, artist_did=did), limit)
        for text in ("echo", "echo ", "ech", "echo hall", "e")
        for kinds in (KINDS, ("track",))
        for sort, adult in (("relevance", False), ("relevance", True), ("recent", False), ("popular", True))
        for did in (None, ANA.did, BEN.did)
        for limit in (20, 50)
    ]

    def answers() -> list[object]:
        return [execute_search(index.index, search, None, limit) for search, limit in asked]

    with monkeypatch.context() as nothing_remembered:
        nothing_remembered.setattr(index.index.words, "_first_pages", Recent(0))
        expected = answers()
    assert answers() == expected
    assert answers() == expected

    broad, before = Search("ech"), index.index.words.rows_read
    assert execute_search(index.index, broad, None, 20) == expected[asked.index((broad, 20))]
    assert index.index.words.rows_read == before

    monkeypatch.setattr(index.index.words, "_first_pages", Recent(8))
    execute_search(index.index, broad, None, 20)
    for search, limit in asked[:24]:  # whatever else is asked for, what is asked for often stays
        execute_search(index.index, search, None, limit)
        before = index.index.words.rows_read
        execute_search(index.index, broad, None, 20)
        assert index.index.words.rows_read == before

    index.write([track_documents(1000, "Echo of Yesterday", ANA, likes=5000)])
    assert b"Echo of Yesterday" in execute_search(index.index, broad, None, 20).results[0]
    index.close()


def test_popularity_decides_among_equals(tmp_path):
    """And the id among those that are equally popular, so the order never wavers."""
    index = Indexed(tmp_path)
    index.write(track_documents(number, "Echo", ANA, likes=number // 2) for number in range(8))

    ids = [result["id"] for result in index.results("echo")]

    likes = {card.key: orjson.loads(card.card + b"}") for card in index.index.tracks(range(8))}
    expected = sorted(likes.values(), key=lambda track: (-track["like_count"], -track["id"]))
    assert ids == [track["id"] for track in expected]
    index.close()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("DEJA vu", "Déjà Vu"),
        ("deja v", "Déjà Vu"),
        ("東京", "夜の東京"),
        ("夜", "夜の東京"),
        ("夜の東亰", "夜の東京"),
        ("benat 東京", "夜の東京"),
        ("etoile deja", "Déjà Vu"),
        ("@ben.example vu", "Déjà Vu"),
        ("vu ben.exam", "Déjà Vu"),
        ("demo.wav", "demo.wav"),
        ("!!!", "!!!"),
        ("nightrainover", "Night Rain over the Harbour"),
        ("harbour rain", "Night Rain over the Harbour"),
        ("harbor", "Night Rain over the Harbour"),
        ("field recordings", "demo.wav"),
    ],
)
def test_people_find_what_they_mean(stocked, text, title):
    """Accents, scripts, handles, signs, words run together, a typo."""
    assert title in stocked.titles(text)


def test_every_kind_is_found_and_shaped_as_the_api_says(stocked):
    """With totals of all kinds, whichever are asked for."""
    for text in ("ana", "field", "night", "ben.example"):
        found = execute_search(stocked.index, Search(text), None, 20)
        body = b'{"results":[%b],"counts":{%b},"next_cursor":null,"has_more":false}' % (
            b",".join(found.results),
            b",".join(b'"%bs":%d' % (kind.encode(), count) for kind, count in found.counts.items()),
        )
        page = SearchPage.model_validate_json(body, strict=True)
        assert page.results
        assert all(0 < result.relevance <= 1 for result in page.results)

    only_tracks = execute_search(stocked.index, Search("ana", kinds=("track",)), None, 20)
    assert only_tracks.counts["artist"] == 1
    assert not any(b'"type":"artist"' in result for result in only_tracks.results)


def test_private_tracks_are_never_found(stocked):
    """Not by their title, not among their artist's, not by a typo; unlisted ones are."""
    everything = [
        title for text in ("night rain private", "privat", "benat") for title in stocked.titles(text)
    ]

    assert "Night Rain, private" not in everything
    assert "Déjà Vu" in everything


def test_filters_narrow_a_search(stocked):
    """To an artist, to a tag however it is spelt; totals with it."""
    assert stocked.titles("rain", artist_did=BEN.did) == ["Might of Rain", "Nigth Rain"]
    assert stocked.titles("demo", tag="#Field  Recording") == ["demo.wav"]
    assert stocked.titles("demo", tag="dub") == []
    assert execute_search(stocked.index, Search("rain", artist_did=BEN.did), None, 20).counts["track"] == 2


def test_sorting_by_time_or_popularity(stocked):
    """The same matches in another order."""
    matches = stocked.titles("night rain")

    assert stocked.titles("night rain", sort="recent") == [
        "Might of Rain", "Nigth Rain", "Sun", "Rain", "Cold Rain at Night", "Night Rain over the Harbour",
        "Night Rain",
    ]  # fmt: skip
    assert stocked.titles("night rain", sort="popular") == matches[::-1]


def test_matched_words_are_marked_and_everything_else_is_escaped(stocked):
    """So a page may put the highlight into its HTML as it is."""
    (bold,) = stocked.results("bold bea", kinds=("track",))

    assert bold["highlight"] == "&lt;b&gt;<mark>Bold</mark>&lt;/b&gt; &amp; <mark>Beautiful</mark>"
    assert stocked.results("夜の")[0]["highlight"] == "<mark>夜の</mark>東京"


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(text=st.text(min_size=1, max_size=100), sort=st.sampled_from(["relevance", "recent", "popular"]))
def test_any_text_may_be_searched_for(stocked, text, sort):
    """Whatever is in it, the answer is results and totals that agree."""
    found = execute_search(stocked.index, Search(text, sort=sort), None, 50)

    assert len(found.results) == sum(found.counts.values())


@pytest.mark.parametrize(
    "text",
    [
        '"', '"night" AND', "title:night", "night^9~2", "[* TO *]", "a" + "\u0301" * 99, "🎵🎶", "  ", "\0\0",
        "\u202e\u200b", "AND OR NOT", "((((", "*", "夜" * 100, "x" * 100, "é" * 100, "a " * 50, "ﷺ" * 99,
        "a.b." * 25,
    ],
)  # fmt: skip
def test_nothing_typed_is_an_error(stocked, text):
    """There is no query language to get wrong."""
    execute_search(stocked.index, Search(text), None, 20)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    """More matches than are fetched at once, in every tier, many of them equal."""
    index = Indexed(tmp_path_factory.mktemp("crowd"))
    titles = ["Echo", "Echo Park", "An Echo", "Eco", "Silence"]
    documents = [
        track_documents(number, titles[number % 5], ANA, likes=number % 3, description="echo" * (number % 2))
        for number in range(700)
    ]
    index.write([*documents, artist_documents(person("echo", "Echo")), tag_documents("echo", 3)])
    yield index
    index.close()


@pytest.mark.parametrize("sort", ["relevance", "recent", "popular"])
@pytest.mark.parametrize("text", ["echo", "echo park", "eco"])
def test_cursors_visit_every_result_once(crowd, text, sort):
    """As many as the totals say, in the order of one long page."""
    asked = Search(text, sort=sort, kinds=("track",))
    pages = list(crowd.pages(asked, 37))
    found = [result for page in pages for result in page.results]

    assert len(set(found)) == len(found) == pages[-1].counts["track"] > 100
    assert found == execute_search(crowd.index, asked, None, 1000).results


def test_what_arrives_between_pages_repeats_nothing(crowd):
    """New matches of every tier, while somebody follows cursors."""
    asked, found, after = Search("echo", kinds=("track",)), [], None
    before = {orjson.loads(result)["id"] for result in execute_search(crowd.index, asked, None, 1000).results}
    for number in itertools.count(1000):
        page = execute_search(crowd.index, asked, after, 50)
        found += [orjson.loads(result)["id"] for result in page.results]
        crowd.write([track_documents(number, "Echo", ANA, likes=9), track_documents(-number, "An Echo", ANA)])
        after = page.after
        if after is None:
            break

    assert len(found) == len(set(found))
    assert before <= set(found)


def test_totals_are_those_of_the_state_that_is_shown(tmp_path):
    """Totals of broad searches are remembered only until something is committed, and by what was asked."""
    index = Indexed(tmp_path)
    index.write(track_documents(number, "Echidna" if number % 2 else "Echo", ANA) for number in range(400))

    def total(text: str) -> int:
        return execute_search(index.index, Search(text), None, 5).counts["track"]

    assert [total("ech"), total("ech"), total("echo"), total("echidna")] == [400, 400, 200, 200]
    index.write([track_documents(1000, "Echo", ANA)])
    assert [total("ech"), total("ech"), total("echo"), total("echidna")] == [401, 401, 201, 200]
    index.close()


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "[]", "{}", "[1,2]", '[1,{"track":[0,1]}]', '[1,{"track":[0,-1,2]}]', '[9,{"track":[0,1,2]}]',
     '[1,{"track":[0,1.5,2]}]', '[1,{"track":[0,1,36893488147419103232]}]', '[1,{"track":[true,1,2]}]',
     "null"],
)  # fmt: skip
def test_a_cursor_of_nobodys_is_refused(stocked, cursor):
    """Whatever it looks like."""
    with pytest.raises(InvalidCursor):
        execute_search(stocked.index, Search("rain"), cursor, 20)


def test_typos_join_only_when_there_is_little_else(tmp_path: Path):
    """Fifty strict matches are enough for anybody."""
    index = Indexed(tmp_path)
    index.write([track_documents(number, f"Echo {number}", ANA) for number in range(50)])
    index.write([track_documents(50, "Ecko", ANA)])
    assert "Ecko" not in index.titles("echo")

    index.drop("track:0")

    assert "Ecko" in index.titles("echo")
    index.close()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("night rain over the harbour by ana ray", "Night Rain over the Harbour"),
        ("something else official audio", "Something Else"),
        ("deja vu feat. nobody known", "Déjà Vu"),
        ("nigt rane over teh harbour", "Night Rain over the Harbour"),
        ("somehtnig", "Something Else"),
        ("beutifl", "<b>Bold</b> & Beautiful"),
        ("arbou", "Night Rain over the Harbour"),
        ("night rain wrong harbour", "Night Rain over the Harbour"),
        ("夜の東北", "夜の東京"),
    ],
)
def test_what_is_nearly_right_is_found_first(stocked, text, title):
    """Words too many, wrong ones, several typos, the middle of a word."""
    assert stocked.titles(text)[0] == title


def test_additions_are_found_where_they_are_the_title(tmp_path):
    """Nothing is a stop word."""
    index = Indexed(tmp_path)
    index.write([track_documents(1, "Lyrics", ANA), track_documents(2, "Remix by Remix", BEN, likes=9)])

    assert index.titles("lyrics") == ["Lyrics"]
    assert index.titles("remix by remix")[0] == "Remix by Remix"
    index.close()


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('"night rain"', ["Night Rain", "Night Rain over the Harbour"]),
        ('"rain night"', []),
        ('"ray night"', []),
        ("rain -night", ["Nigth Rain", "Might of Rain"]),
        ("rain artist:benat", ["Might of Rain", "Nigth Rain"]),
        ('rain album:"the night"', ["Rain"]),
        ('tag:"field recording"', ["demo.wav"]),
        ("rain -artist:ana", ["Might of Rain", "Nigth Rain"]),
        ('"夜の東京"', ["夜の東京"]),
        ("-rain", []),
    ],
)
def test_operators_hold_in_every_tier(stocked, text, titles):
    """Whatever is found, no tier goes round them."""
    assert sorted(stocked.titles(text)) == sorted(titles)


def test_cursors_visit_every_relaxed_result_once(tmp_path):
    """In the order of one long page; there are never more than a hundred."""
    index = Indexed(tmp_path)
    index.write(track_documents(n, f"Harbour Lights {n}", ANA, likes=n % 4) for n in range(150))
    asked = Search("harbour lights wrongly", kinds=("track",))
    pages = list(index.pages(asked, 17))
    found = [result for page in pages for result in page.results]

    assert len(set(found)) == len(found) == pages[-1].counts["track"] == 100
    assert found == execute_search(index.index, asked, None, 1000).results
    index.close()


def test_relaxed_matches_join_only_when_there_is_less_than_a_page(tmp_path):
    """Twenty that hold all words are enough."""
    index = Indexed(tmp_path)
    index.write(track_documents(n, f"Harbour Lights {n}", ANA) for n in range(20))
    index.write([track_documents(20, "Harbour", ANA)])
    assert "Harbour" not in index.titles("harbour lights")

    index.drop("track:0")

    assert index.titles("harbour lights")[-1] == "Harbour"
    index.close()


def test_popularity_does_not_beat_the_better_match(tmp_path):
    """Names of as many words as were typed come before longer ones, in order or not."""
    index = Indexed(tmp_path)
    index.write(
        [
            track_documents(1, "Night Rain", ANA),
            track_documents(2, "Night Rain over the Harbour", ANA, likes=5000),
        ]
    )

    assert index.titles("night ra") == ["Night Rain", "Night Rain over the Harbour"]
    assert index.titles("rain night") == ["Night Rain", "Night Rain over the Harbour"]
    index.close()


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("paper li", ["Paper Lions", "Paper Lighthouse Keepers at Sea", "Paper Lion Dance"]),
        ("paper ", ["Paper Sky", "Paper", "Paper Sons"]),
        ("paper", ["Paper", "Paper Sky", "Paper Sons"]),
        ("papers", ["Paper", "Papers and Pens", "Paper Sons"]),
        ("papre lio", ["Paper Lions", "Paper Lion Dance"]),
    ],
)
def test_the_name_that_lacks_least_comes_first(tmp_path, text, titles):
    """Unfinished, about to go on, in the plural, with a typo: what is meant is the least popular."""
    index = Indexed(tmp_path)
    names = [
        "Paper Lighthouse Keepers at Sea", "Paper Lion Dance", "Paper Lions", "Paper Sons", "Paper",
        "Papers and Pens", "Paper Sky",
    ]  # fmt: skip
    index.write(track_documents(n, name, ANA, likes=5000 >> n) for n, name in enumerate(names))

    found = index.titles(text)

    assert [title for title in found if title in titles] == titles
    index.close()


@pytest.mark.parametrize(
    ("text", "title", "tier", "fields", "typos"),
    [
        ("night rain", "Night Rain", "whole_name", ["title"], 0),
        ("night rai", "Night Rain", "nearly_whole_name_as_long", ["title"], 0),
        ("night rai", "Night Rain over the Harbour", "start_of_name", ["title"], 0),
        ("night rain over the ", "Night Rain over the Harbour", "name_with_next_word", ["title"], 0),
        ("night rains", "Night Rain", "name_in_other_number", ["name", "title"], 0),
        ("rain night", "Night Rain", "same_words_as_name", ["title"], 0),
        ("rain nigh", "Night Rain", "words_of_title", ["title"], 0),
        ("rain night", "Cold Rain at Night", "words_in_title", ["title"], 0),
        ("night rain", "Rain", "words_in_names", ["album", "title"], 0),
        ("night rain", "Sun", "words_in_text", ["description"], 0),
        ("night rain", "Nigth Rain", "name_with_typo", ["name", "title"], 1),
        ("rain etoile", "Nigth Rain", "words_in_names", ["artist", "title"], 0),
        ("nigt rane over teh harbour", "Night Rain over the Harbour", "relaxed", ["name", "title"], 3),
        ("recording demo", "demo.wav", "words_in_names", ["tag", "title"], 0),
    ],
)
def test_explanations_say_why_a_result_is_there(stocked, text, title, tier, fields, typos):
    """The tier, the fields that hold the words, the typos."""
    results = {
        result["title"]: result["explain"] for result in stocked.results(text, kinds=("track",), explain=True)
    }

    assert results[title] == results[title] | {"tier": tier, "fields": fields, "typos": typos}


@pytest.mark.parametrize("sort", ["relevance", "recent", "popular"])
@pytest.mark.parametrize("text", ["night rain", "nigt rane", "!!!", "夜の", "-rain"])
def test_explaining_changes_nothing_else(stocked, text, sort):
    """The same results in the same order, with popularity as it is counted in the index."""
    plain = stocked.results(text, sort=sort)
    explained = stocked.results(text, sort=sort, explain=True)

    reasons = [result.pop("explain") for result in explained]
    assert explained == plain
    assert all(reason["popularity"] in range(5_000_001) for reason in reasons)


def test_suggestions_are_names_of_all_kinds_each_once(tmp_path):
    """In the order of a search; at most ten."""
    index = Indexed(tmp_path)
    index.write([track_documents(n, f"Harbour {n % 20}", ANA, likes=n) for n in range(60)])
    index.write([artist_documents(person("port", "Harbour")), tag_documents("harbour")])

    found = [orjson.loads(name) for name in suggest_names(index.index, "harb")]

    assert len(found) == MOST == len({(name["type"], name["name"]) for name in found})
    assert {"type": "artist", "name": "Harbour", "by": None} in found
    assert {"type": "tag", "name": "harbour", "by": None} in found
    assert [name["by"] for name in found if name["type"] == "track"] == ["Ana Ray"] * 8
    assert suggest_names(index.index, "zzzz") == []
    index.close()
