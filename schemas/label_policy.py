"""What follows from labels: the policy of this service, decided here and nowhere else. Pure.

A label is an assertion by its source (https://atproto.com/specs/label). Which sources count is the operator's
choice (FMSVC_LABELERS); what a value means is decided here. Values that are not named are shown, and no more.
"""

from collections.abc import Iterable
from typing import Final, Literal, get_args

# `hidden`: only its own account is shown the subject. `adult`: out of lists, search, feeds, exports and
# players unless asked for; its own address shows it, with a notice.
Effect = Literal["none", "adult", "hidden"]
EFFECTS: tuple[str, ...] = get_args(Effect)

HIDING: Final = frozenset({"!hide", "!takedown", "!suspend", "copyright", "copyright-violation"})
ADULT: Final = frozenset(
    {"porn", "sexual", "nudity", "sexual-figurative", "graphic-media", "gore", "corpse", "nsfl"}
)
_NOTICES: Final = {
    "!warn": "Its labels warn of it.",
    "!no-unauthenticated": "Its account asks services to show it to people who are signed in.",
}


def effect_of(values: Iterable[str]) -> Effect:
    """What follows from the values that labelers and the operator gave to one subject."""
    given = set(values)
    if given & HIDING:
        return "hidden"
    return "adult" if given & ADULT else "none"


def self_effect_of(values: Iterable[str]) -> Effect:
    """What follows from the values that a record gives to itself: those of adults, no decisions of others."""
    return "adult" if ADULT.intersection(values) else "none"


def stricter(one: Effect, other: Effect) -> Effect:
    """The effect that goes further."""
    return max(one, other, key=EFFECTS.index)


def notice_of(effect: Effect, values: Iterable[str]) -> str | None:
    """The sentence that a page shows with its subject; None where there is nothing to say."""
    if effect == "hidden":
        return "Labels hide this from everybody but you."
    if effect == "adult":
        return "Labels say that this is for adults."
    return next((_NOTICES[value] for value in values if value in _NOTICES), None)
