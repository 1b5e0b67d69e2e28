"""Strangers' text in places without markup."""

import json
import sys

import pytest

from readapi.pages import text
from tests.readapi.pages.examples import HOSTILE


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_line_is_one_line_of_bounded_length_without_directions(hostile):
    """Titles and attributes end where they should and turn nothing round."""
    line = text.one_line(hostile, 100)

    assert len(line) <= 100
    assert line.splitlines() == [line]
    assert not set(line) & set("\0\x07\x1b\u202e\u2066\u2028")


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_script_data_says_the_same_and_cannot_end_its_element(hostile):
    """JSON in a script element has no way out, and reads back unchanged."""
    written = text.script_data({"name": hostile})

    assert json.loads(written) == {"name": hostile}
    assert not set(written) & set("<>&\u2028\u2029")


def test_lone_surrogates_are_dropped_where_bytes_must_be_made():
    """They cannot be written in UTF-8."""
    assert text.drop_unprintable("a\ud800b") == "ab"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (7, "0:07"), (187, "3:07"), (3723, "1:02:03"), (-1, "0:00")]
)
def test_clock_shows_seconds_as_players_do(seconds, shown):
    """Minutes are padded only after hours."""
    assert text.format_clock(seconds) == shown


def test_counts_carry_their_noun():
    """One is singular, thousands are grouped."""
    assert [text.format_count(count, "track") for count in (0, 1, 1200)] == [
        "0 tracks",
        "1 track",
        "1,200 tracks",
    ]


def test_days_are_written_out():
    """The day as written in the record's UTC time."""
    assert text.format_day("2026-03-12T23:59:59.123Z") == "12 March 2026"


def test_only_web_addresses_may_be_linked():
    """Neither scripts nor other schemes pass."""
    addresses = ["https://a.example", "http://a.example", "javascript:alert(1)", "data:text/html,x", "", None]

    assert [text.is_web_address(address) for address in addresses] == [True, True, *[False] * 4]


def test_printable_text_has_nothing_to_drop():
    """A line of it is the same as with a character that has to be looked for, in every script."""
    printable = "".join(filter(str.isprintable, map(chr, range(sys.maxunicode + 1))))

    assert text.one_line(printable, sys.maxunicode) == text.one_line(f"{printable}\x07", sys.maxunicode)
