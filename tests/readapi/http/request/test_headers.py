"""Accept, Range, If-Range and If-None-Match mean what RFC 9110 says."""

import pytest

from readapi.errors import RangeNotSatisfiable
from readapi.http.request.headers import Accept, Conditions

ETAG = '"abc"'
CAR, JSON = "application/vnd.ipld.car", "application/json"


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=0-99", (0, 100)),
        ("bytes=0-1000", (0, 100)),
        ("bytes=10-", (10, 100)),
        ("bytes=99-", (99, 100)),
        ("bytes=-1", (99, 100)),
        ("bytes=-1000", (0, 100)),
        ("BYTES=5-6", (5, 7)),
        ("bytes= 5-6 ", (5, 7)),
    ],
)
def test_one_range_is_a_part(asked, part):
    """Cut off where the file ends."""
    assert Conditions(asked).part(100, ETAG) == part


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=5",
        "bytes=6-5",
        "bytes=a-b",
        "bytes=+1-2",
        "bytes=0-1,3-4",
        "bytes=" + ",".join(["0-"] * 1000),
        "bytes=0-" + "9" * 5000,
        "items=0-5",
        "bytes=٠-١",
    ],
)
def test_what_is_no_single_range_is_the_whole(asked):
    """Servers may ignore what they do not understand, and several ranges at once."""
    assert Conditions(asked).part(100, ETAG) is None


@pytest.mark.parametrize("asked", ["bytes=100-", "bytes=100-200", "bytes=99999999999999999999-", "bytes=-0"])
def test_a_range_behind_the_end_cannot_be_had(asked):
    """The refusal says how long the file is."""
    with pytest.raises(RangeNotSatisfiable) as refusal:
        Conditions(asked).part(100, ETAG)

    assert refusal.value.headers == {"Content-Range": "bytes */100"}


def test_an_empty_file_has_no_parts():
    """Not even its last byte."""
    for asked in ("bytes=0-", "bytes=-1"):
        with pytest.raises(RangeNotSatisfiable):
            Conditions(asked).part(0, ETAG)


@pytest.mark.parametrize(
    ("if_range", "part"),
    [('"abc"', (0, 5)), ('"other"', None), ('W/"abc"', None), ("Sat, 21 Nov 2026 13:00:00 GMT", None)],
)
def test_a_part_of_another_version_is_not_given(if_range, part):
    """If-Range compares strongly, and files have no dates."""
    assert Conditions("bytes=0-4", if_range).part(100, ETAG) == part


@pytest.mark.parametrize(
    ("if_none_match", "knows"),
    [
        ("", False),
        ('"abc"', True),
        ('W/"abc"', True),
        ('"x", "abc"', True),
        ("*", True),
        ('"x"', False),
        ("abc", False),
    ],
)
def test_who_has_it_already_is_told_so(if_none_match, knows):
    """If-None-Match compares weakly."""
    assert Conditions("", "", if_none_match).knows(ETAG) is knows


@pytest.mark.parametrize(
    ("header", "prefers"),
    [
        ("application/vnd.ipld.car", True),
        ("APPLICATION/VND.IPLD.CAR; version=1", True),
        ("application/vnd.ipld.car, application/json;q=0.5", True),
        ("application/json, application/vnd.ipld.car;q=0.9", False),
        ("application/vnd.ipld.car, application/json", False),
        ("application/vnd.ipld.car;q=0", False),
        ("application/vnd.ipld.car;q=much", False),
        ("*/*", False),
        ("", False),
        (";,;=,", False),
    ],
)
def test_the_greater_weight_wins(header: str, prefers: bool) -> None:
    """An Accept header prefers one type to another; wildcards and what cannot be read count for nothing."""
    assert Accept(header).prefers(CAR, JSON) is prefers
