"""Recounts likes and comments of tracks from the records, and finds stored counts that differ.

Reads only. Each function is one query, so that it compares one state of the catalogue.
"""

from collections.abc import Collection
from typing import Final

import duckdb

from indexer.catalog.database import join_keys
from indexer.catalog.tables.comment_limit import MOST

# The one definition of what is counted. `{which}` narrows it to some subjects.
_COUNTED: Final = """
    select subject_key, sum(likes)::bigint as likes, sum(comments)::bigint as comments
    from (
        select subject_key, count(distinct pair) as likes, 0 as comments
        from visible_likes
        {which}
        group by subject_key
        union all
        select subject_key, 0, sum(least(written, {most}))
        from (
            select subject_key, count(*) as written
            from visible_comments
            {which}
            group by subject_key, did
        )
        group by subject_key
    )
    group by subject_key
"""
_DIFFERING: Final = """
    select subject_key
    from ({counted}) as counted
    full join (select * from track_counts {which}) as stored using (subject_key)
    where coalesce(counted.likes, 0) <> coalesce(stored.likes, 0)
        or coalesce(counted.comments, 0) <> coalesce(stored.comments, 0)
        or (counted.likes is null and stored.plays = 0)
    order by subject_key
"""
# Subjects that the records name, or that are counted; whichever of the two is missing is found.
_SUBJECTS: Final = """
    select distinct subject_key
    from (
        select subject_key from track_counts
        union all
        select subject_key from likes where subject_key is not null
        union all
        select subject_key from comments where subject_key is not null
    )
    where subject_key >= ?
    order by subject_key
    limit ?
"""


def recount_subjects(con: duckdb.DuckDBPyConnection, subjects: Collection[int]) -> dict[int, tuple[int, int]]:
    """(likes, comments) of each of these subjects that has any."""
    found = con.execute(_COUNTED.format(which=_among(subjects), most=MOST)).fetchall()
    return {subject: (likes, comments) for subject, likes, comments in found}


def find_wrong_counts(con: duckdb.DuckDBPyConnection, subjects: Collection[int] | None = None) -> list[int]:
    """The subjects with stored counts that differ from a recount; a sound catalogue has none.

    `subjects` is None for all subjects.
    """
    which = "" if subjects is None else _among(subjects)
    query = _DIFFERING.format(counted=_COUNTED.format(which=which, most=MOST), which=which)
    return [subject for (subject,) in con.execute(query).fetchall()]


def sample_subjects(con: duckdb.DuckDBPyConnection, start: int, most: int) -> list[int]:
    """Up to so many subjects, in the order of their keys from `start` on."""
    return [subject for (subject,) in con.execute(_SUBJECTS, [start, most]).fetchall()]


def _among(subjects: Collection[int]) -> str:
    return f"where subject_key in ({join_keys(subjects)})"
