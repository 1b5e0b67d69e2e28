"""Memories with a bound keep what is asked for often, whatever else is asked for."""

from schemas.recent import Recent


def test_what_was_not_used_for_longest_makes_room() -> None:
    """To find a value is to use it, and so is to keep it again."""
    known: Recent[str, int] = Recent(3)
    for key, value in (("a", 0), ("b", 1), ("c", 2)):
        known.keep(key, value)

    assert known.find("a") == 0
    known.keep("b", 10)
    known.keep("d", 3)

    assert [known.find(key) for key in "abcd"] == [0, 10, None, 3]
    assert len(known) == 3


def test_nothing_is_kept_without_room_or_after_it_is_cleared() -> None:
    """A bound of none is one, too."""
    none: Recent[str, int] = Recent(0)
    none.keep("a", 1)
    assert none.find("a") is None
    assert len(none) == 0

    some: Recent[str, int] = Recent(1)
    some.keep("a", 1)
    some.clear()
    assert some.find("a") is None
