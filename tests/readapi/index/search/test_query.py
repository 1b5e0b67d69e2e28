"""Search texts are parsed into words, operators and hints; anything else is plain words."""

import pytest

from readapi.index.search.query import BESIDE, GUEST, MOST_CONDITIONS, QueryWords


def texts(query: QueryWords) -> list[str]:
    return [word.text for word in query.words]


@pytest.mark.parametrize(
    ("text", "words", "required", "excluded"),
    [
        ("night rain", ["night", "rain"], [], []),
        ('"night rain" live', ["night", "rain", "live"], [(None, "night rain")], []),
        ("“night rain”", ["night", "rain"], [(None, "night rain")], []),
        ("night -rain", ["night"], [], [(None, "rain")]),
        ('night -"cold rain"', ["night"], [], [(None, "cold rain")]),
        ("night artist:ana", ["night"], [("artist", "ana")], []),
        ('night ALBUM:"The Night" -tag:dub', ["night"], [("album", "The Night")], [("tag", "dub")]),
        ("tag:dub", ["dub"], [("tag", "dub")], []),
        ("-rain", [], [], [(None, "rain")]),
    ],
)
def test_operators_become_conditions(text, words, required, excluded):
    """Phrases are words as well; an operator alone is what is looked for."""
    query = QueryWords.read(text)

    assert texts(query) == words
    assert [(condition.scope, condition.text) for condition in query.required] == required
    assert [(condition.scope, condition.text) for condition in query.excluded] == excluded


@pytest.mark.parametrize(
    "text",
    [
        '"night',
        "a - b",
        "-",
        "e-mix",
        "artist:",
        "title:night",
        "tag: dub",
        '""',
        "--",
        "AC/DC -",
        "artist:!",
    ],
)
def test_what_is_no_operator_is_plain_words(text):
    """Half-typed operators too, so that results do not vanish while somebody types."""
    query = QueryWords.read(text)

    assert (query.required, query.excluded) == ((), ())


def test_the_last_word_goes_on_unless_it_was_quoted():
    """`"night ra"` is finished; `night ra` is not."""
    assert QueryWords.read("night ra").words[-1].is_last
    assert not QueryWords.read('"night ra"').words[-1].is_last


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("harbour lights by ana", ["harbour", "lights"]),
        ("harbour lights official audio", ["harbour", "lights"]),
        ("harbour (Lyrics)", ["harbour"]),
        ("harbour feat. ana ray", ["harbour"]),
        ("stand by", ["stand"]),
        ("by the river", ["the", "river"]),
        ("lyrics", ["lyrics"]),
        ("official audio", ["official", "audio"]),
    ],
)
def test_additions_are_told_from_the_title(text, title):
    """A query of nothing but additions is a title."""
    assert [word.text for word in QueryWords.read(text).title] == title


def test_additions_and_guests_count_for_less():
    """Nothing is dropped: whatever has them explains more."""
    assert QueryWords.read("harbour feat. ana lyrics").shares == (1, BESIDE, GUEST, BESIDE)
    assert QueryWords.read("lyrics remix").shares == (1, 1)


def test_conditions_are_bounded():
    """What follows is plain words."""
    query = QueryWords.read(" ".join(["-a"] * 40))

    assert len(query.excluded) == MOST_CONDITIONS
