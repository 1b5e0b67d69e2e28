"""What the process that reads snapshots is asked and answers is the same on both sides of its socket."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from readapi.index.snapshots import messages
from readapi.index.snapshots.messages import FoundRows, Query, State

NUMBERS = st.integers(-(2**63), 2**64 - 1)
TEXT = st.text(st.characters(exclude_categories=("Cs",)))
INSTANTS = st.datetimes()
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
START, END = datetime.fromisoformat("1990-01-01"), datetime.fromisoformat("2200-01-01")
VALUES = st.one_of(NUMBERS, TEXT, INSTANTS, FLOATS)
TIMES = st.datetimes(timezones=st.just(UTC), min_value=START, max_value=END)
COLUMNS = st.sampled_from([NUMBERS, TEXT, INSTANTS, FLOATS, st.booleans()]).map(lambda of: st.none() | of)


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Rows, with one type of value in each column."""
    columns = draw(st.lists(COLUMNS, min_size=1, max_size=4))
    return draw(st.lists(st.tuples(*columns), max_size=5))


@given(TEXT, st.dictionaries(TEXT, VALUES, max_size=4))
def test_queries(sql: str, values: dict[str, Any]) -> None:
    """With values of every type."""
    assert messages.decode_query(messages.encode_query(Query(sql, values))) == Query(sql, values)


@given(TEXT, TIMES, tables())
def test_rows(version: str, as_of: datetime, rows: list[tuple[Any, ...]]) -> None:
    """Also with nulls before the first value of a column."""
    found = FoundRows(version, as_of, rows)

    assert messages.decode_rows(messages.encode_rows(found)) == found


@given(st.none() | TEXT, st.none() | TIMES, TEXT)
def test_states(version: str | None, as_of: datetime | None, absence: str) -> None:
    """With and without a snapshot."""
    state = State(version, as_of, absence)

    assert messages.decode_state(messages.encode_state(state)) == state
