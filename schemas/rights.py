"""Rights metadata: who owns a recording and how its shares are split. Grants no access to anything."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, Strict, model_validator

from schemas.fields import DidString, Items, Maybe, Shape, Text

T = TypeVar("T", bound="Party")
WHOLE = 10_000  # basis points
CODES = frozenset(("isrc", "iswc"))  # members that belong to one recording

Name = Annotated[str, Text(min_bytes=1, max_bytes=2560, max_graphemes=256)]
Share = Annotated[int, Strict(), Field(ge=0, le=WHOLE)]


class Owner(Shape):
    """The owner of the master recording."""

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
    """No kind of share may add up to more than the whole; less is fine, as parties may be unknown."""
    if sum(party.mechanical_share for party in parties) > WHOLE:
        raise ValueError(f"mechanicalShare must not add up to more than {WHOLE}")
    if sum(party.performance_share for party in parties) > WHOLE:
        raise ValueError(f"performanceShare must not add up to more than {WHOLE}")
    return parties


Parties = Annotated[tuple[T, ...], Items(100), AfterValidator(_check_shares)]


class Ownership(Shape):
    """The owner and the shares of a recording, which can be the same for many recordings."""

    master_owner: Maybe[Owner] = None
    parties: Maybe[Parties[Party]] = None


Code = Annotated[str, Text(max_bytes=32)]


class Codes(Shape):
    """An ISRC names one recording, an ISWC the one work that it is of."""

    isrc: Maybe[Code] = None
    iswc: Maybe[Code] = None


class Rights(Ownership, Codes):
    """What `rights` of a track may say. The codes come first, as catalogues have always stored them."""


class SentOwner(Owner, extra="forbid"):
    """`Owner` in a request: unknown members are refused."""


class SentParty(Party, extra="forbid"):
    """`Party` in a request: unknown members are refused."""


class SentOwnership(Ownership, extra="forbid"):
    """Ownership in a request: unknown members are refused instead of dropped."""

    master_owner: Maybe[SentOwner] = None
    parties: Maybe[Parties[SentParty]] = None

    @model_validator(mode="before")
    @classmethod
    def _check_codes(cls, sent: object) -> object:
        if isinstance(sent, dict) and not sent.keys().isdisjoint(CODES):
            raise ValueError("must not hold an ISRC or ISWC: send them with the track that they belong to")
        return sent

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to attach."""
        return not (self.master_owner or self.parties)


class SentRights(Rights, extra="forbid"):
    """Rights metadata of one track in a request: unknown members are refused."""

    master_owner: Maybe[SentOwner] = None
    parties: Maybe[Parties[SentParty]] = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to attach."""
        return not (self.isrc or self.iswc or self.master_owner or self.parties)


def complete_rights(sent: Rights | None, saved: Ownership | None) -> Rights | None:
    """The rights sent with a track, with the saved owner and parties where it names none."""
    if saved is None or (sent is not None and (sent.master_owner or sent.parties)):
        return sent
    ownership = {"master_owner": saved.master_owner, "parties": saved.parties}
    return (sent or Rights()).model_copy(update=ownership)
