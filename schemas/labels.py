"""Labels: what labelers and the operator assert of accounts and records. https://atproto.com/specs/label

The table `label_decisions` of the state database is the log of the operator's own labels: the last decision
about a subject and a value holds. Only the API writes it; the indexer follows it.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from schemas.ids import AtUri, is_did
from schemas.settings import Settings
from schemas.state_reader import StateReader, open_reader

MOST_VALUE: Final = 128  # bytes of a label's value, by the lexicon
MOST_OF_A_SUBJECT: Final = 50  # labels of one source that are kept of one subject
MOST_OF_A_SOURCE: Final = 1_000_000  # and in all
MOST_WITH_OTHERS: Final = 500_000  # from which on none are added of accounts without a record of ours
MOST_OF_THE_OPERATOR: Final = 100_000  # labels that stand by the operator's decisions

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEWEST: Final = "select coalesce(max(number), 0) from label_decisions"
_STANDING: Final = """
    select subject, value, negated, expires_at, decided_at
    from label_decisions as one
    where number = (
        select max(number) from label_decisions as same
        where same.subject = one.subject and same.value = one.value
    )
    order by number
"""


class LabelKey(NamedTuple):
    """What a label is about, and who says it: of two with the same key the later one holds."""

    source: str
    subject: str
    cid: str | None  # of the version that it is about; None: every version
    value: str


class Label(NamedTuple):
    """One assertion, or its negation. `cts`: when it was made. Times are aware, in UTC."""

    source: str
    subject: str
    cid: str | None
    value: str
    cts: datetime
    expires_at: datetime | None = None
    negated: bool = False

    @property
    def key(self) -> LabelKey:
        return LabelKey(*self[:4])

    def stands(self, now: datetime) -> bool:
        """Does it hold at this time?"""
        return not self.negated and (self.expires_at is None or self.expires_at > now)


class OperatorLabels:
    """Reads the table. Raises Away: see `schemas.state_reader`."""

    def __init__(self, database: StateReader, source: str) -> None:
        self._database = database
        self._source = source

    async def newest(self) -> int:
        """The number of the last decision; 0 before the first."""
        ((number,),) = await self._database.rows(_NEWEST)
        return int(number)

    async def standing(self) -> list[Label]:
        """The last decision about each subject and value."""
        return [
            Label(
                self._source, subject, None, value, _time(decided), expires and _time(expires), bool(negated)
            )
            for subject, value, negated, expires, decided in await self._database.rows(_STANDING)
        ]


@asynccontextmanager
async def open_labels(settings: Settings, source: str) -> AsyncIterator[OperatorLabels]:
    """The table in the database that the settings name, until the block ends."""
    database = open_reader(settings)
    try:
        yield OperatorLabels(database, source)
    finally:
        await database.close()


def read_subject(text: str) -> str:
    """The account or record that a text names. Raises ValueError, with a sentence."""
    text = text.strip()
    if is_did(text):
        return text
    try:
        return str(AtUri.parse(text))
    except ValueError:
        raise ValueError(f"{text!r} is neither a DID nor a record's at-uri that begins with a DID.") from None


def label_members(given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The members of API cards about labels: all values, each once, and who says what."""
    details = list(given)
    return {"labels": list(dict.fromkeys(label["val"] for label in details)), "label_details": details}


def check_value(text: str) -> str:
    """A label's value: 1 to 128 bytes without spaces and control characters. Raises ValueError."""
    if not 0 < len(text.encode()) <= MOST_VALUE or not text.isprintable() or " " in text:
        raise ValueError(f"A label's value has 1 to {MOST_VALUE} bytes, and no spaces.")
    return text


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
