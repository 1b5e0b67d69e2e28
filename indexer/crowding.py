"""Which comments stand: of one account on one track the first so many. Others are neither counted nor listed.

The first by `indexed_at`, which follows from the record, and by key among equals: the same ones whatever came
first, and what is written later changes nothing. How many is `comments_per_track` in `meta`, so that whoever
reads the catalogue, a rebuild and a check among them, goes by the same number as the writer.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import duckdb
import numpy
import pyarrow

from indexer.catalogue import LISTED, Catalogue, listed
from indexer.rows import Applied
from indexer.seen import Hashes
from indexer.tally import Tally
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
    """How many live comments each account has on each track: 8 bytes for each comment, in memory."""

    def __init__(self, catalogue: Catalogue, most: int) -> None:
        self._catalogue = catalogue
        self.most = most
        self._live = Tally(self._written())
        self._steps: Counter[int] = Counter()

    def moved(self, applied: Applied) -> tuple[dict[Pair, int], list[int]]:
        """By how much what stands changes, and the other comments that take a place or lose it."""
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
        """Everything of these accounts is about to be removed."""
        people = listed(dids)
        if people:
            query = (
                f"select {_PAIR}, count(*) from comments where did in {LISTED} and state = 'live' group by 1"
            )
            self._steps.subtract(dict(self._catalogue.rows(query, [people])))

    def change(self, most: int) -> tuple[list[int], set[int]]:
        """Let another number hold from now on. Returns the comments, and the tracks, for which it matters."""
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
        """Let memory follow the transaction, or forget it."""
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
        """So many changes move a comment by so many places at most: of the others none is touched."""
        if not crowded:
            return []
        return [key for (key,) in self._about(crowded, _SHIFTED, most=self.most).fetchall()]

    def _about(self, pairs: Mapping[Pair, int], query: str, **values: int) -> duckdb.DuckDBPyConnection:
        con = self._catalogue.con
        rows = [(did, subject, changes) for (did, subject), changes in pairs.items()]
        con.register("pairs", pyarrow.table(list(zip(*rows, strict=True)), PAIRS))
        return con.execute(query, values)
