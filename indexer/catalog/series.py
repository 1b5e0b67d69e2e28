"""Series: what a snapshot's records come to on each day, in a file of its own that other processes read.

To count them takes longer than to copy the catalogue, so that not every snapshot is counted. The rows of one
subject lie together and in order, so that a reader finds them without an index.
"""

import shutil
from pathlib import Path
from typing import Final

import duckdb

from indexer.catalog.published_files import number_of, point, prune, replacing
from indexer.catalog.tables.comment_limit import MOST, PLACE
from schemas import data_folder
from schemas.series import SUBJECT
from schemas.settings import Settings

MEMORY: Final = "256MB"

# In the snapshot, of what schemas/access.py shows to everybody: public and unlisted tracks, of which only the
# public ones are in tags and lists of several artists. A record counts on the day that it claims, or on
# which it was first seen, whichever is earlier. An account's likes of one track count once, on the first day.
_SHOWN: Final = """
    create temp table shown as
    select
        key, did, {artist} as artist, visibility = 'public' as is_public,
        least(created_at, indexed_at)::date as day
    from visible_tracks where visibility <> 'private'
"""
_COUNTED: Final = f"""
    create temp table counted as
    select
        key, any_value(shown.artist) as artist, any_value(shown.is_public) as is_public, moved.day as day,
        sum(likes)::integer as likes, sum(comments)::integer as comments, sum(tracks)::integer as tracks
    from (
        select subject_key as key, day, count(*) as likes, 0 as comments, 0 as tracks
        from (
            select any_value(subject_key) as subject_key, min(least(created_at, indexed_at))::date as day
            from visible_likes group by pair
        )
        group by all
        union all
        select subject_key, day, 0, count(*), 0
        from (
            select subject_key, least(created_at, indexed_at)::date as day, {PLACE} as place
            from visible_comments
        )
        where place <= {MOST}
        group by all
        union all
        select key, day, 0, 0, 1 from shown
    ) as moved
    join shown using (key)
    group by key, moved.day
"""
_SUMS: Final = (
    "sum(likes)::integer as likes, sum(comments)::integer as comments, sum(tracks)::integer as tracks"
)
_TABLES: Final = (
    "create table series.meta as select * from meta where name = 'schema_version'",
    f"""
    create table series.all_days as
    select 0::bigint as subject, day, {_SUMS}, sum(artists)::integer as artists
    from (
        select day, likes, comments, tracks, 0 as artists from counted
        union all
        select min(day), 0, 0, 0, 1 from shown group by artist
    )
    group by day order by day
    """,
    """
    create table series.track_days as
    select key as subject, is_public, day, likes, comments, tracks, 0 as artists
    from counted order by key, day
    """,
    f"""
    create table series.artist_days as
    select artist as subject, day, {_SUMS}, 0 as artists
    from counted group by artist, day order by artist, day
    """,
    f"""
    create table series.tag_days as
    select {{tag}} as subject, day, {_SUMS}, sum(artists)::integer as artists
    from (
        select tag, counted.day, likes, comments, tracks, 0 as artists
        from counted join track_tags on track_tags.track_key = counted.key where is_public
        union all
        select tag, min(day), 0, 0, 0, 1
        from shown join track_tags on track_tags.track_key = shown.key where is_public group by tag, artist
    )
    group by tag, day order by subject, day
    """,
    """
    create table series.artists as
    select distinct artist as subject, did as name from shown order by subject
    """,
    """
    create table series.tags as
    select distinct {tag} as subject, tag as name
    from shown join track_tags on track_tags.track_key = shown.key where is_public order by subject
    """,
)


class Series:
    """The files `series-N.duckdb` of the folder `snapshots`; N is the snapshot's number."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.data_dir / data_folder.SNAPSHOTS
        self._newest = settings.data_dir / data_folder.NEWEST_SERIES
        self._snapshot = settings.data_dir / data_folder.NEWEST_SNAPSHOT

    @property
    def is_behind(self) -> bool:
        """True when a snapshot was published that is not counted."""
        counted, found = self._newest, self._snapshot
        if not found.exists():
            return False
        return not counted.exists() or number_of(counted.resolve()) != number_of(found.resolve())

    def publish(self, snapshot: Path) -> Path:
        """Count a snapshot, make the file the current one, and prune. Raises StoreError."""
        target = self._folder / f"series-{number_of(snapshot)}.duckdb"
        with replacing(target) as partial:
            partial.unlink(missing_ok=True)
            _count(snapshot, partial)
        point(self._newest, target)
        prune(self._folder, "series")
        return target


def _count(snapshot: Path, target: Path) -> None:
    aside = Path(f"{target}.tmp")
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "threads": 1,
        "temp_directory": str(aside),
    }
    numbers = {name: SUBJECT.format(name=column) for name, column in (("artist", "did"), ("tag", "tag"))}
    try:
        with duckdb.connect(config=config) as con:
            con.execute(f"attach '{_quoted(snapshot)}' as catalogue (read_only)")
            con.execute(f"attach '{_quoted(target)}' as series")
            con.execute("use catalogue")
            for statement in (_SHOWN, _COUNTED, *_TABLES):
                con.execute(statement.format(**numbers))
            con.execute("use memory")
            con.execute("detach series")
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
