"""Good messages with one place or a few replaced by something else: what shows a check that was forgotten."""

from typing import Any

from hypothesis import strategies as st

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=20)
    | st.sampled_from(["", "#", "/", "did:", "b", "z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a value."""
    found = [at]
    if isinstance(value, dict):
        for name, item in value.items():
            found += places(item, (*at, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            found += places(item, (*at, number))
    return found


def replaced(value: Any, at: tuple[Any, ...], by: Any) -> Any:
    """The value with something else at one place."""
    if not at:
        return by
    first, *rest = at
    if isinstance(value, dict) and isinstance(first, str):
        return value | {first: replaced(value.get(first), tuple(rest), by)}
    if not isinstance(value, list) or not isinstance(first, int) or first >= len(value):
        return by
    return [*value[:first], replaced(value[first], tuple(rest), by), *value[first + 1 :]]


@st.composite
def spoilt(draw: st.DrawFn, good: Any, by: st.SearchStrategy[Any] = ANYTHING) -> Any:
    """The value with one to three places replaced."""
    value = good
    for _ in range(draw(st.integers(1, 3))):
        value = replaced(value, draw(st.sampled_from(places(good))), draw(by))
    return value
