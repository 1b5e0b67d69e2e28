"""Input that could not be used, kept as it came: within a limit, the oldest dropped first."""

from collections.abc import Sequence
from dataclasses import asdict

from indexer.batch import DeadLetter
from indexer.catalogue import Catalogue
from indexer.projections.projection import utc


class DeadLetters:
    """The table, and how many bytes it holds."""

    def __init__(self, catalogue: Catalogue, limit_bytes: int) -> None:
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
        """Keep these, but for those that are there already: a source repeats itself after a reconnect."""
        new = self._new(letters)
        self._catalogue.insert(
            "dead_letters", [asdict(letter) | {"received_at": utc(letter.received_at)} for letter in new]
        )
        self.count += len(new)
        self._bytes += sum(len(letter.raw) for letter in new)
        if self._bytes > self._limit_bytes:
            self._drop_oldest()
        return len(new)

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
