"""A delivery's body, id and the filter that webhooks are stored with. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Final

import orjson

from readapi.live.filters import Filter
from readapi.live.subscriber import Wanted
from readapi.webhooks.inbox import Parcel
from schemas.datetimes import render

TYPE: Final = "changes"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def message_id(webhook_id: str, position: int) -> str:
    """The id of the delivery that leads to a position: the same however often it is sent."""
    return f"msg_{webhook_id}_{position}"


def render_body(parcel: Parcel, *, is_incomplete: bool) -> bytes:
    """The body of a delivery. `is_incomplete`: changes before it are no longer kept."""
    at = render(_EPOCH + timedelta(microseconds=parcel.position))
    changes = [orjson.Fragment(change) for change in parcel.changes]
    told = {"cursor": parcel.position, "incomplete": is_incomplete, "changes": changes}
    return orjson.dumps({"type": TYPE, "timestamp": at, "data": told})


def write_wanted(chosen: Filter, cards: bool) -> str:
    """What a webhook wants, as it is stored."""
    return orjson.dumps(
        {**{name: sorted(value) for name, value in chosen._asdict().items()}, "cards": cards}
    ).decode()


def read_wanted(text: str) -> Wanted:
    """The same, as the feed takes it."""
    stored = orjson.loads(text)
    cards = stored.pop("cards")
    return Wanted(Filter(**{name: frozenset(value) for name, value in stored.items()}), cards, chunked=False)
