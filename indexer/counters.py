"""Likes, comments and plays of each track: moved by what a transaction changes.

They are recounted only where they were found wrong: see `recount.py`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Final, NamedTuple

import pyarrow

from indexer import recount
from indexer.catalogue import LISTED, Catalogue, keys, listed
from indexer.crowding import MOST, Crowding
from indexer.rows import Applied
from indexer.tally import Tally
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
    """By how much each subject's counts change."""

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
    """A subject whose counts changed: how popular it was, and is."""

    subject: int
    before: int
    after: int


class Counters:
    """Keeps `track_counts` equal to what counting the visible likes and comments would find."""

    def __init__(self, catalogue: Catalogue, crowding: Crowding) -> None:
        self._catalogue = catalogue
        self._crowding = crowding
        self._live = Tally(catalogue.hashes("likes", "pair"))
        self._steps: Counter[int] = Counter()
        self._recounted: Tally | None = None

    def likes(self, applied: Applied, hidden: Container[Did], moves: Moves) -> None:
        """Count people, not records: a pair moves the count with its first live like and its last.

        A transaction may ask several times. Each time it is counted on from where the time before has ended.
        """
        steps: Counter[int] = Counter()
        whose = {row["pair"]: row for row in applied.versions()}
        for rows, step in ((applied.before, -1), (applied.after, 1)):
            for row in rows.values():
                if row["state"] == "live":
                    steps[row["pair"]] += step
        for pair, committed in self._live.counts(whose.keys()).items():
            row, count = whose[pair], committed + self._steps[pair]
            if row["did"] not in hidden:
                moves.likes[row["subject_key"]] += (count + steps[pair] > 0) - (count > 0)
        self._steps.update(steps)

    def comments(self, applied: Applied, hidden: Container[Did], moves: Moves) -> list[int]:
        """Of one account on one track as many as may stand. Returns the others that begin or end to stand."""
        moved, shifted = self._crowding.moved(applied)
        for (did, subject), step in moved.items():
            if did not in hidden:
                moves.comments[subject] += step
        return shifted

    def plays(self, counted: Mapping[int, int], moves: Moves) -> None:
        """Plays are counted elsewhere, by whom nothing is hidden: here each subject gets its number."""
        if not counted:
            return
        query = f"select subject_key, plays from track_counts where subject_key in ({keys(counted)})"
        known = dict(self._catalogue.rows(query))
        for subject, count in counted.items():
            moves.plays[subject] += count - known.get(subject, 0)

    def contributions(self, dids: Iterable[Did], sign: int, moves: Moves) -> None:
        """Add (or take away) everything that these accounts' live records count for."""
        people = listed(dids)
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
        """These likes, live until then, were removed with their account."""
        self._steps.subtract(pairs)

    def apply(self, moves: Moves) -> list[Moved]:
        """Write the moves: subjects known and new, and none left that count nothing. Returns what changed."""
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
                f"where subject_key in ({keys(fallen)}) and likes = 0 and comments = 0 and plays = 0"
            )
        popular = [(subject, likes + plays) for subject, likes, _, plays in rows]
        counts = ((subject, known.get(subject, moved), moved) for subject, moved in popular)
        return [Moved(subject, count - moved, count) for subject, count, moved in counts]

    def recount(self, subjects: Collection[int]) -> list[Moved]:
        """Set the counts of these subjects to what is stored, whatever was counted before. Plays stay.

        To be called when all else in the transaction is done. Memory is read anew as well.
        """
        if not subjects:
            return []
        con, these = self._catalogue.con, f"where subject_key in ({keys(subjects)})"
        before = {
            subject: (likes, plays)
            for subject, likes, plays in self._catalogue.rows(
                f"select subject_key, max(likes), max(plays) from track_counts {these} group by subject_key"
            )
        }
        true = recount.counts(con, subjects)
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
        self._recounted = Tally(self._catalogue.hashes("likes", "pair"))
        return moved

    def settle(self, committed: bool) -> None:
        """Let memory follow the transaction, or forget it."""
        if committed and self._recounted is not None:
            self._live = self._recounted
        elif committed:
            self._live.move(self._steps)
        self._crowding.settle(committed)
        self._steps.clear()
        self._recounted = None
