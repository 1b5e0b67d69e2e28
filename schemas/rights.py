"""Rights metadata: who owns a recording and how its shares are split. Grants no access to anything."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, Strict

from schemas.fields import DidString, Items, Maybe, Shape, Text

T = TypeVar("T", bound="Party")
WHOLE = 10_000  # basis points

Name = Annotated[str, Text(min_bytes=1, max_bytes=2560, max_graphemes=256)]
Share = Annotated[int, Strict(), Field(ge=0, le=WHOLE)]


class Owner(Shape):
    """Whoever owns the master recording."""

    name: Name
    did: Maybe[DidString] = None


class Party(Shape):
    """One person or company with shares, in basis points."""

    name: Name
    mechanical_share: Share
    performance_share: Share
    did: Maybe[DidString] = None
    ipi: Maybe[Annotated[str, Text(max_bytes=32)]] = None
    role: Maybe[Annotated[str, Text(max_bytes=640, max_graphemes=64)]] = None
    society: Maybe[Annotated[str, Text(max_bytes=640, max_graphemes=64)]] = None


def _check_shares(parties: tuple[Party, ...]) -> tuple[Party, ...]:
    """No kind of share may add up to more than the whole; less is fine, not everybody is known."""
    if sum(party.mechanical_share for party in parties) > WHOLE:
        raise ValueError(f"mechanicalShare must not add up to more than {WHOLE}")
    if sum(party.performance_share for party in parties) > WHOLE:
        raise ValueError(f"performanceShare must not add up to more than {WHOLE}")
    return parties


Parties = Annotated[tuple[T, ...], Items(100), AfterValidator(_check_shares)]


class Rights(Shape):
    """What `rights` of a track may say."""

    isrc: Maybe[Annotated[str, Text(max_bytes=32)]] = None
    iswc: Maybe[Annotated[str, Text(max_bytes=32)]] = None
    master_owner: Maybe[Owner] = None
    parties: Maybe[Parties[Party]] = None


class SentOwner(Owner, extra="forbid"):
    """The same, where a misspelt member is told to whoever sent it."""


class SentParty(Party, extra="forbid"):
    """The same, where a misspelt member is told to whoever sent it."""


class SentRights(Rights, extra="forbid"):
    """Rights metadata as people send it to us: what would be dropped unseen is refused."""

    master_owner: Maybe[SentOwner] = None
    parties: Maybe[Parties[SentParty]] = None

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to attach."""
        return not (self.isrc or self.iswc or self.master_owner or self.parties)
