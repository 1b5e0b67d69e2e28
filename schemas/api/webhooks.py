"""Webhooks: where changes are sent for a developer token."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.api.shape import Address, Asked, Shape, Time

MOST_URL = 2048
MOST_NAMES = 100

Url = Annotated[
    str, Field(min_length=1, max_length=MOST_URL, description="An https address on the public internet.")
]
Names = Annotated[tuple[Annotated[str, Field(max_length=2048)], ...], Field(max_length=MOST_NAMES)]
State = Literal["active", "retrying", "paused", "ended"]


class WantedWebhook(Asked):
    """A webhook to create. The filters are those of `GET /live`; an empty one admits every change.

    `token_id`: of the developer token that it belongs to; by default the token of the request. `cursor`: the
    position after which changes are sent; by default what happens from now on.
    """

    url: Url
    token_id: Annotated[str, Field(max_length=64)] | None = None
    wanted_collections: Names = ()
    wanted_dids: Names = ()
    tags: Names = ()
    artists: Names = ()
    cards: bool = False
    cursor: Annotated[int, Field(ge=0, lt=1 << 63)] | None = None


class Webhook(Shape):
    """A webhook. `cursor`: everything up to it was delivered. `artists`: by their DIDs."""

    id: str
    token_id: str
    url: Address
    wanted_collections: list[str]
    wanted_dids: list[str]
    tags: list[str]
    artists: list[str]
    cards: bool
    cursor: int
    created_at: Time
    delivered_at: Time | None = Field(description="When the last delivery was accepted.")
    state: State = Field(
        description="`retrying`: the last delivery was not accepted. `paused`: it was given up, until it is "
        "resumed. `ended`: its developer token is no longer valid."
    )
    failing_since: Time | None
    next_attempt_at: Time | None
    last_error: str | None
    paused_because: str | None


class Webhooks(Shape):
    """Webhooks, the oldest first."""

    webhooks: list[Webhook]


class NewWebhook(Shape):
    """A webhook that was created, and the secret that signs its deliveries, which is shown only once."""

    webhook: Webhook
    secret: str


class NewSecret(Shape):
    """The new secret, shown only once. The one before it signs too until `previous_until`."""

    secret: str
    previous_until: Time
