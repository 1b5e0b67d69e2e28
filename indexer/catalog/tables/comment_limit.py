"""The limit of comments per account and track: only the first ones are counted and listed ("stand").

The first by `indexed_at`, which follows from the record, then by key: the same ones in whatever order they
arrive, and later comments change nothing. The limit is `comments_per_track` in `meta`, so that every reader
of the catalogue, such as a rebuild or a check, applies the same number as the writer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import duckdb
import numpy
import pyarrow

from indexer.catalog.database import LISTED, Database, join_words
from indexer.catalog.hash_sets import HashCounter, Hashes
from indexer.catalog.projections import Applied
from schemas.ids import Did

NAME: Final = "comments_per_track"
UNLIMITED: Final = 2**31
MOST: Final = f"coalesce((select value::bigint from meta where name = '{NAME}'), {UNLIMITED})"
PLACE: Final = "row_number() over (partition by did, subject_key order by indexed_at, key)"
PAIRS: Final = pyarrow.schema(
    [("did", pyarrow.string()), ("subject_key", pyarrow.int64()), ("changes", pyarrow.int64())]
)

_PAIR: Final = (
    "(hash(did, subject_key) >> 1)::bigint"  # within this process: another DuckDB may hash otherwise
)
_SHIFTED: Final = f"""
    with placed as (
        select key, did, subject_key, {PLACE} as place
        from comments
        where state = 'live'
          and subject_key in (select subject_key from pairs) and did in (select did from pairs)
    )
    select key
    from placed
    join pairs using (did, subject_key)
    where place > $most - changes and place <= $most + changes
"""
_BETWEEN: Final = f"""
    select key, subject_key
    from (select key, subject_key, {PLACE} as place from comments where state = 'live')
    where place > $least and place <= $most
"""

Pair = tuple[Did, int]


class Crowding:
    """Counts each account's live comments on each track in memory: 8 bytes for each comment."""

    def __init__(self, catalogue: Database, most: int) -> None:
        self._catalogue = catalogue
        self.most = most
        self._live = HashCounter(self._written())
        self._steps: Counter[int] = Counter()

    def moved(self, applied: Applied) -> tuple[dict[Pair, int], list[int]]:
        """The change of standing comments by pair, and the other comments that begin or cease to stand."""
        steps: Counter[Pair] = Counter()
        changes: Counter[Pair] = Counter()
        for rows, step in ((applied.before, -1), (applied.after, 1)):
            for row in rows.values():
                if row["state"] == "live":
                    steps[row["did"], row["subject_key"]] += step
                    changes[row["did"], row["subject_key"]] += 1
        hashes = self._hashes(changes)
        committed = self._live.counts(hashes.values())
        moved, crowded = {}, {}
        for pair, number in hashes.items():
            before = committed[number] + self._steps[number]
            after = before + steps[pair]
            self._steps[number] += steps[pair]
            moved[pair] = min(after, self.most) - min(before, self.most)
            if max(before, after) > self.most:
                crowded[pair] = changes[pair]
        return moved, self._shifted(crowded)

    def left(self, dids: Iterable[Did]) -> None:
        """Discount all comments of accounts that are about to be removed."""
        people = join_words(dids)
        if people:
            query = (
                f"select {_PAIR}, count(*) from comments where did in {LISTED} and state = 'live' group by 1"
            )
            self._steps.subtract(dict(self._catalogue.rows(query, [people])))

    def change(self, most: int) -> tuple[list[int], set[int]]:
        """Change the limit. Returns the comments that begin or cease to stand, and their tracks."""
        con = self._catalogue.con
        known = con.execute("select value::bigint from meta where name = ?", [NAME]).fetchone()
        before = UNLIMITED if known is None else known[0]
        self.most = most
        if known is not None and before == most:
            return [], set()
        con.execute("delete from meta where name = ?", [NAME])
        con.execute("insert into meta values (?, ?)", [NAME, str(most)])
        found = con.execute(_BETWEEN, {"least": min(before, most), "most": max(before, most)}).fetchall()
        return [key for key, _ in found], {subject for _, subject in found}

    def settle(self, committed: bool) -> None:
        """Apply the transaction's steps to the counts in memory if it committed, else drop them."""
        if committed:
            self._live.move(self._steps)
        self._steps.clear()

    def _written(self) -> Hashes:
        query = f"select {_PAIR} as pair from comments where state = 'live'"
        found = self._catalogue.con.execute(query).fetchnumpy()["pair"]
        return numpy.asarray(found, dtype=numpy.int64)

    def _hashes(self, pairs: Mapping[Pair, int]) -> dict[Pair, int]:
        if not pairs:
            return {}
        found = self._about(pairs, f"select did, subject_key, {_PAIR} from pairs")
        return {(did, subject): number for did, subject, number in found.fetchall()}

    def _shifted(self, crowded: Mapping[Pair, int]) -> list[int]:
        """Comments near the limit: n changes of a pair move its comments by at most n places."""
        if not crowded:
            return []
        return [key for (key,) in self._about(crowded, _SHIFTED, most=self.most).fetchall()]

    def _about(self, pairs: Mapping[Pair, int], query: str, **values: int) -> duckdb.DuckDBPyConnection:
        con = self._catalogue.con
        rows = [(did, subject, changes) for (did, subject), changes in pairs.items()]
        con.register("pairs", pyarrow.table(list(zip(*rows, strict=True)), PAIRS))
        return con.execute(query, values)
