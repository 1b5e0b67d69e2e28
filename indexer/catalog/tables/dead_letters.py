"""Dead letters: input that could not be used, kept unchanged; above a limit the oldest are dropped."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

import duckdb

from indexer.catalog.database import LISTED, Database, join_words
from schemas.datetimes import to_utc


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Input that could not be used, unchanged."""

    received_at: datetime
    source: str
    seq: int | None
    did: str | None
    reason: str
    raw: bytes


PAGE: Final = 200
NAME_LENGTH: Final = 10

_IS_WANTED: Final = """
    ($did is null or did = $did)
    and ($reason is null or contains(lower(reason), lower($reason)))
    and ($name is null or starts_with(sha256(raw), lower($name)))
"""


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """A filter of dead letters by DID, part of the reason, and beginning of the name. None: any."""

    did: str | None = None
    reason: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A dead letter without its bytes. Its name is the beginning of the SHA-256 of the bytes."""

    name: str
    received_at: datetime
    source: str
    seq: int | None
    did: str | None
    reason: str
    bytes: int


class DeadLetters:
    """The table `dead_letters`, with its totals in memory."""

    def __init__(self, catalogue: Database, limit_bytes: int) -> None:
        self._catalogue = catalogue
        self._limit_bytes = limit_bytes
        self.count = 0
        self._bytes = 0
        self.load()

    def load(self) -> None:
        """Read the totals from the table."""
        self.count, self._bytes = self._catalogue.rows(
            "select count(*), coalesce(sum(octet_length(raw)), 0)::bigint from dead_letters"
        )[0]

    def add(self, letters: Sequence[DeadLetter]) -> int:
        """Add letters, without those stored already: a source repeats frames after a reconnect."""
        new = self._new(letters)
        self._catalogue.insert(
            "dead_letters", [asdict(letter) | {"received_at": to_utc(letter.received_at)} for letter in new]
        )
        self.count += len(new)
        self._bytes += sum(len(letter.raw) for letter in new)
        if self._bytes > self._limit_bytes:
            self._drop_oldest()
        return len(new)

    def remove(self, letters: Sequence[DeadLetter]) -> None:
        """Remove these letters."""
        if not letters:
            return
        instants = [letter.received_at for letter in letters]
        self._catalogue.con.execute(
            f"""
            delete from dead_letters
            where received_at between ? and ? and sha256(raw) in {LISTED}
            """,
            [
                to_utc(min(instants)),
                to_utc(max(instants)),
                join_words(sha256(letter.raw).hexdigest() for letter in letters),
            ],
        )
        self.load()

    def _new(self, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
        unnumbered = [letter for letter in letters if letter.seq is None]
        numbered = {
            (letter.source, letter.seq, letter.reason, letter.raw): letter
            for letter in letters
            if letter.seq is not None
        }
        if numbered:
            sequence = [letter.seq for letter in numbered.values() if letter.seq is not None]
            kept = self._catalogue.rows(
                "select source, seq, reason, raw from dead_letters where seq between ? and ?",
                (min(sequence), max(sequence)),
            )
            for letter in kept:
                numbered.pop(letter, None)
        return [*unnumbered, *numbered.values()]

    def _drop_oldest(self) -> None:
        self._catalogue.con.execute(
            """
            delete from dead_letters
            where rowid in (
                select place
                from (
                    select
                        rowid as place,
                        sum(octet_length(raw)) over (order by received_at desc, rowid desc) as held
                    from dead_letters
                )
                where held > ?
            )
            """,
            [self._limit_bytes],
        )
        self.load()


def list_summaries(con: duckdb.DuckDBPyConnection, wanted: LetterFilter, limit: int) -> list[Summary]:
    """Summaries of the letters that match, the newest first."""
    found = con.execute(
        f"""
        select left(sha256(raw), {NAME_LENGTH}), received_at, source, seq, did, reason, octet_length(raw)
        from dead_letters
        where {_IS_WANTED}
        order by received_at desc
        limit $limit
        """,
        asdict(wanted) | {"limit": limit},
    ).fetchall()
    return [Summary(name, at.replace(tzinfo=UTC), *rest) for name, at, *rest in found]


def count_letters(con: duckdb.DuckDBPyConnection, wanted: LetterFilter) -> int:
    """The number of letters that match."""
    query = f"select count(*) from dead_letters where {_IS_WANTED}"
    [(number,)] = con.execute(query, asdict(wanted)).fetchall()
    return int(number)


def find_letter(con: duckdb.DuckDBPyConnection, name: str) -> DeadLetter | None:
    """The newest letter with this name, or with a name that begins with it."""
    return next(_letters(con, LetterFilter(name=name), "order by received_at desc limit 1", {}), None)


def read_page(
    con: duckdb.DuckDBPyConnection, wanted: LetterFilter, after: datetime, until: datetime
) -> list[DeadLetter]:
    """A page of about PAGE letters, the oldest first: letters of one instant are on one page."""
    between = {"after": to_utc(after), "until": to_utc(until)}
    within = "and received_at > $after and received_at <= $until"
    first = f"select received_at from dead_letters where {_IS_WANTED} {within} order by 1 limit {PAGE}"
    rest = f"{within} and received_at <= (select max(received_at) from ({first})) order by received_at"
    return list(_letters(con, wanted, rest, between))


def _letters(
    con: duckdb.DuckDBPyConnection, wanted: LetterFilter, rest: str, values: dict[str, datetime | None]
) -> Iterator[DeadLetter]:
    found = con.execute(
        f"select received_at, source, seq, did, reason, raw from dead_letters where {_IS_WANTED} {rest}",
        asdict(wanted) | values,
    ).fetchall()
    for received_at, *others in found:
        yield DeadLetter(received_at.replace(tzinfo=UTC), *others)
