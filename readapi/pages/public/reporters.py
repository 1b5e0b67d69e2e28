"""Who sends a report or a notice: an account, or, where the operator allows that, a network."""

from typing import NamedTuple

from readapi.errors import NotAuthenticated
from readapi.http.limits.clients import Client, wider_network
from readapi.http.viewer import InSession
from readapi.state.state import State
from schemas.reports import MOST_OPEN
from schemas.settings import Settings


class Reporter(NamedTuple):
    """A DID, or `network:` and a keyed hash that tells no address. `most_open`: how many may wait."""

    name: str
    most_open: int


def find_reporter(who: InSession | None, client: Client, settings: Settings, state: State) -> Reporter:
    """Who sends this. Raises NotAuthenticated where an account is required."""
    if who is not None:
        return Reporter(who.did, MOST_OPEN)
    if not settings.anonymous_reports:
        raise NotAuthenticated
    return Reporter(state.name_network(wider_network(client)), settings.anonymous_reports)
