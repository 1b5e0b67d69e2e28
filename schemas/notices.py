"""Notices of infringement: their states, what follows which, and how long their texts may be. Pure."""

from typing import Final, Literal, get_args

State = Literal["received", "acted_on", "counter_noticed", "restored", "rejected"]
STATES: Final = get_args(State)
# What the operator may decide in each state. A counter-notice is of the account that the notice concerns.
DECISIONS: Final[dict[State, tuple[State, ...]]] = {
    "received": ("acted_on", "rejected"),
    "acted_on": ("restored",),
    "counter_noticed": ("restored", "acted_on"),
    "restored": ("acted_on",),
    "rejected": (),
}
COUNTERED_FROM: Final[State] = "acted_on"
OPEN: Final[tuple[State, ...]] = ("received", "counter_noticed")
MOST_TEXT: Final = 4_000  # characters of a statement
MOST_NAME: Final = 300  # of a name or an address
MOST_OPEN_IN_ALL: Final = 10_000  # notices that are not decided yet
