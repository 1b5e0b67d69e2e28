"""Takedowns by the operator of this service: their subjects, what they cover, and the table that has them.

A subject is an account by its DID, a record by its at-uri, or a recording or picture by the CID of its bytes.
The table `takedown_decisions` of the state database is a log: a subject is taken down while the last decision
about it is `takedown`. Times are Unix microseconds. Only the API writes it; every process follows it.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

import orjson

from schemas.ids import Did, checked_id, is_cid, is_did, record_id, record_key
from schemas.settings import Settings
from schemas.spaces import parse_address
from schemas.state_reader import StateReader, open_reader

Action = Literal["takedown", "restore"]

LOOK_SECONDS: Final = 0.25  # between two looks at the log: a takedown is to have its effect within a second
MOST_REASON: Final = 1_000  # characters

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OF_PROFILE: Final = ("bio", "avatar_url", "support_url", "created_at")  # members of a card
_RECORD_DOCUMENTS: Final = ("track", "list", "comment")  # kinds of search documents named by a record's key
_NEWEST: Final = "select coalesce(max(number), 0) from takedown_decisions"
_STANDING: Final = """
    select subject, reason, decided_at
    from takedown_decisions as one
    where action = 'takedown'
        and number = (select max(number) from takedown_decisions as same where same.subject = one.subject)
    order by number
"""


class Takedown(NamedTuple):
    """A subject that is taken down, why, and since when."""

    subject: str
    reason: str
    decided_at: datetime


class Takedowns:
    """The takedowns that stand at one time, and what they cover. Immutable."""

    __slots__ = ("_by_subject", "_documents", "_likes", "_profiles", "accounts", "are_none", "records")

    def __init__(self, standing: Iterable[Takedown] = ()) -> None:
        self._by_subject = {takedown.subject: takedown for takedown in standing}
        self.are_none = not self._by_subject  # each look-up asks first
        self.accounts = frozenset(Did(subject) for subject in self._by_subject if is_did(subject))
        self.records = frozenset(subject for subject in self._by_subject if "://" in subject)
        keys = [record_key(uri) for uri in self.records]
        self._documents = frozenset(f"{kind}:{key}" for kind in _RECORD_DOCUMENTS for key in keys)
        parts = [uri.removeprefix("at://").split("/") for uri in self.records]
        self._likes = frozenset((one[0], one[-1]) for one in parts if one[-2].endswith(".like"))
        self._profiles = frozenset(one[0] for one in parts if one[-2].endswith(".profile"))

    def __len__(self) -> int:
        return len(self._by_subject)

    def covers_document(self, doc: str, did: str) -> bool:
        """Is this search document, by its name and its account, of a subject that is taken down?"""
        return did in self.accounts or doc in self._documents

    def covers_card(self, doc: str, did: str, card: Callable[[], bytes]) -> bool:
        """Does this document show a like or a profile that is taken down, which its name does not tell?

        The documents that the indexer makes without the profile show no more than the account's handle.
        """
        if did in self._profiles and doc.startswith("artist:"):
            shown = _read_card(card())
            named = shown.get("display_name") not in (None, shown["handle"])
            return named or any(shown.get(name) for name in _OF_PROFILE)
        if not self._likes or not doc.startswith("like:"):
            return False
        return all((did, rkey) in self._likes for rkey in _read_card(card())["rkeys"])

    def covers_any(self, subjects: Collection[str]) -> bool:
        """Is one of these subjects taken down?"""
        return not self._by_subject.keys().isdisjoint(subjects)

    def find(self, subjects: Iterable[str]) -> Takedown | None:
        """The first takedown of these subjects; None where there is none."""
        return next((self._by_subject[subject] for subject in subjects if subject in self._by_subject), None)

    def of_own_record(self, name: str, did: Did) -> Takedown | None:
        """The takedown of an account's record with this at-uri or id, or of the account of this at-uri."""
        prefix = f"at://{did}/"
        mine = (uri for uri in self.records if uri.startswith(prefix))
        named = [uri for uri in mine if name in (uri, str(record_id(uri)), checked_id(uri))]
        return self.find([*named, did] if name.startswith(prefix) else named)


def _read_card(card: bytes) -> dict[str, Any]:
    """A card, which in some indexes lacks its closing brace."""
    known: dict[str, Any] = orjson.loads(card if card.endswith(b"}") else card + b"}")
    return known


class TakedownTable:
    """Reads the table. Raises Away: see `schemas.state_reader`."""

    def __init__(self, database: StateReader) -> None:
        self._database = database

    async def newest(self) -> int:
        """The number of the last decision: it changes with each; 0 before the first."""
        ((number,),) = await self._database.rows(_NEWEST)
        return int(number)

    async def standing(self) -> list[Takedown]:
        """All takedowns that stand, in the order of their decisions."""
        return [
            Takedown(subject, reason, _EPOCH + timedelta(microseconds=decided_at))
            for subject, reason, decided_at in await self._database.rows(_STANDING)
        ]


@asynccontextmanager
async def open_table(settings: Settings) -> AsyncIterator[TakedownTable]:
    """The table in the database that the settings name, until the block ends."""
    database = open_reader(settings)
    try:
        yield TakedownTable(database)
    finally:
        await database.close()


def read_subject(text: str) -> str:
    """The subject that a text names, as it is stored. Raises ValueError, with a sentence."""
    text = text.strip()
    if is_did(text) or is_cid(text):
        return text
    try:
        return str(parse_address(text))
    except ValueError:
        raise ValueError(
            f"{text!r} is neither a DID, nor a record's at-uri that begins with a DID, "
            "nor the CID of a recording or picture."
        ) from None
