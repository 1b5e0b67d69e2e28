"""Counts of likes, comments and plays of each track: changed by each transaction's differences.

A count is recounted only where it was found wrong: see `recount.py`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Final, NamedTuple

import pyarrow

from indexer.catalog.database import LISTED, Database, join_keys, join_words
from indexer.catalog.hash_sets import HashCounter
from indexer.catalog.projections import Applied
from indexer.catalog.tables import recount
from indexer.catalog.tables.comment_limit import MOST, Crowding
from schemas.ids import Did

COUNTED: Final = ("subject_key", "likes", "comments", "plays")
MOVED: Final = pyarrow.schema([(name, pyarrow.int64()) for name in COUNTED])
MOVE: Final = """
    update track_counts
    set likes = track_counts.likes + moved.likes,
        comments = track_counts.comments + moved.comments,
        plays = track_counts.plays + moved.plays
    from moved
    where track_counts.subject_key = moved.subject_key
    returning track_counts.subject_key, track_counts.likes + track_counts.plays
"""


class Moves:
    """The changes of each subject's counts."""

    def __init__(self) -> None:
        self.likes: defaultdict[int, int] = defaultdict(int)
        self.comments: defaultdict[int, int] = defaultdict(int)
        self.plays: defaultdict[int, int] = defaultdict(int)

    def rows(self) -> list[tuple[int, int, int, int]]:
        """(subject_key, likes, comments, plays) of every subject that moves."""
        subjects = sorted(self.likes.keys() | self.comments.keys() | self.plays.keys())
        rows = [
            (subject, self.likes[subject], self.comments[subject], self.plays[subject])
            for subject in subjects
        ]
        return [row for row in rows if any(row[1:])]


class Moved(NamedTuple):
    """A subject with changed counts: its popularity before and after."""

    subject: int
    before: int
    after: int


class Counters:
    """Keeps `track_counts` equal to a count of the visible likes and comments."""

    def __init__(self, catalogue: Database, crowding: Crowding) -> None:
        self._catalogue = catalogue
        self._crowding = crowding
        self._live = self._live_likes()
        self._steps: Counter[int] = Counter()
        self._recounted: HashCounter | None = None

    def likes(self, applied: Applied, hidden: Container[Did], moves: Moves) -> dict[int, int]:
        """Count accounts, not records: a pair changes the count with its first live like and its last.

        A transaction may call this several times; each call counts on from the one before. Returns how many
        live records each changed pair has.
        """
        live = {}
        steps: Counter[int] = Counter()
        versions = {row["pair"]: row for row in applied.versions()}
        for rows, step in ((applied.before, -1), (applied.after, 1)):
            for row in rows.values():
                if row["state"] == "live":
                    steps[row["pair"]] += step
        for pair, committed in self._live.counts(versions.keys()).items():
            row, count = versions[pair], committed + self._steps[pair]
            live[pair] = count + steps[pair]
            if row["did"] not in hidden:
                moves.likes[row["subject_key"]] += (live[pair] > 0) - (count > 0)
        self._steps.update(steps)
        return live

    def comments(self, applied: Applied, hidden: Container[Did], moves: Moves) -> list[int]:
        """Count comments up to the limit. Returns other comments that begin or cease to stand."""
        moved, shifted = self._crowding.moved(applied)
        for (did, subject), step in moved.items():
            if did not in hidden:
                moves.comments[subject] += step
        return shifted

    def plays(self, counted: Mapping[int, int], moves: Moves) -> None:
        """Set the plays of these subjects, which the API counts."""
        if not counted:
            return
        query = f"select subject_key, plays from track_counts where subject_key in ({join_keys(counted)})"
        known = dict(self._catalogue.rows(query))
        for subject, count in counted.items():
            moves.plays[subject] += count - known.get(subject, 0)

    def contributions(self, dids: Iterable[Did], sign: int, moves: Moves) -> None:
        """Add (or subtract) the contributions of these accounts' live records."""
        people = join_words(dids)
        if not people:
            return
        theirs = f"where did in {LISTED} and state = 'live'"
        likes = f"select subject_key, count(distinct pair) from likes {theirs} group by subject_key"
        for subject, count in self._catalogue.rows(likes, [people]):
            moves.likes[subject] += sign * count
        written = f"select subject_key, count(*) as n from comments {theirs} group by subject_key, did"
        comments = f"select subject_key, sum(least(n, {MOST}))::bigint from ({written}) group by subject_key"
        for subject, count in self._catalogue.rows(comments, [people]):
            moves.comments[subject] += sign * count

    def removed(self, pairs: Iterable[int]) -> None:
        """Discount live likes that were removed with their account."""
        self._steps.subtract(pairs)

    def apply(self, moves: Moves) -> list[Moved]:
        """Write the changes, and remove rows with all counts 0. Returns the changed subjects."""
        rows = moves.rows()
        if not rows:
            return []
        con = self._catalogue.con
        con.register("moved", pyarrow.table(list(zip(*rows, strict=True)), MOVED))
        known = dict(con.execute(MOVE).fetchall())
        con.unregister("moved")
        self._catalogue.insert(
            "track_counts",
            [dict(zip(COUNTED, row, strict=True)) for row in rows if row[0] not in known],
        )
        fallen = [subject for subject, *moved in rows if min(moved) < 0]
        if fallen:
            con.execute(
                "delete from track_counts "
                f"where subject_key in ({join_keys(fallen)}) and likes = 0 and comments = 0 and plays = 0"
            )
        popular = [(subject, likes + plays) for subject, likes, _, plays in rows]
        counts = ((subject, known.get(subject, moved), moved) for subject, moved in popular)
        return [Moved(subject, count - moved, count) for subject, count, moved in counts]

    def recount(self, subjects: Collection[int]) -> list[Moved]:
        """Set the likes and comments of these subjects by a recount of the records. Plays stay.

        Call after the rest of the transaction is done. The memory is loaded again as well.
        """
        if not subjects:
            return []
        con, these = self._catalogue.con, f"where subject_key in ({join_keys(subjects)})"
        before = {
            subject: (likes, plays)
            for subject, likes, plays in self._catalogue.rows(
                f"select subject_key, max(likes), max(plays) from track_counts {these} group by subject_key"
            )
        }
        true = recount.recount_subjects(con, subjects)
        con.execute(f"delete from track_counts {these}")
        rows, moved = [], []
        for subject in sorted(subjects):
            likes, comments = true.get(subject, (0, 0))
            likes_before, plays = before.get(subject, (0, 0))
            row = (subject, likes, comments, plays)
            if any(row[1:]):
                rows.append(dict(zip(COUNTED, row, strict=True)))
            moved.append(Moved(subject, likes_before + plays, likes + plays))
        self._catalogue.insert("track_counts", rows)
        self._recounted = self._live_likes()
        return moved

    def _live_likes(self) -> HashCounter:
        return HashCounter(self._catalogue.hashes("likes", "pair", "state = 'live'"))

    def settle(self, committed: bool) -> None:
        """Apply a committed transaction to the memory, or drop a failed one."""
        if committed and self._recounted is not None:
            self._live = self._recounted
        elif committed:
            self._live.move(self._steps)
        self._crowding.settle(committed)
        self._steps.clear()
        self._recounted = None
