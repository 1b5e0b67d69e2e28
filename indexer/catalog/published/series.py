"""Series: daily counts of a snapshot's records, in a file of its own that other processes read.

Counting takes longer than copying the catalogue, so not every snapshot is counted. The rows of one
subject lie together and in order, so that a reader finds them without an index. Plays are also there by the
hour, as the state database keeps them.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import duckdb

from indexer.catalog.published.files import number_of, point, prune, quoted, replacing
from indexer.catalog.published.play_hours import load_hours
from indexer.catalog.published.work_database import WorkDatabase
from indexer.catalog.tables.comment_limit import MOST, PLACE
from schemas import data_folder
from schemas.datetimes import to_utc
from schemas.play_counts import HOURS_KEPT
from schemas.series import SUBJECT
from schemas.settings import Settings

MEMORY: Final = "256MB"
GROWING: Final = timedelta(hours=2)  # before the last hour of a file, others may have had plays since

# In the snapshot, of the tracks that are in the tables of the open data: public ones that are not for adults.
# Others are counted for themselves alone; those of private ones are shown to their artists only. A record
# counts on the day that it claims, or on which it was first seen, whichever is earlier. An account's likes of
# one track count once, on the first day; as a liker of an artist, or of anything, it counts on the day of the
# first like, so that days add up.
_SHOWN: Final = """
    create temp table shown as
    select
        key, did, {artist} as artist, key in (select key from listed_tracks) as is_public,
        least(created_at, indexed_at)::date as day
    from visible_tracks where visibility <> 'private'
"""
_LISTED: Final = "create temp view listed as select * from shown where is_public"
_SUMS: Final = ", ".join(
    f"sum({metric})::integer as {metric}" for metric in ("likes", "comments", "tracks", "plays")
)
# One after the other: what each holds in memory is free for the next.
_MOVED: Final = (
    """
    create temp table moved (
        key bigint, day date, likes integer, comments integer, tracks integer, plays integer
    )
    """,
    """
    insert into moved
    select subject_key, day, count(*), 0, 0, 0
    from (
        select any_value(subject_key) as subject_key, min(least(created_at, indexed_at))::date as day
        from visible_likes group by pair
    )
    group by subject_key, day
    """,
    f"""
    insert into moved
    select subject_key, day, 0, count(*), 0, 0
    from (
        select subject_key, least(created_at, indexed_at)::date as day, {PLACE} as place
        from visible_comments
    )
    where place <= {MOST}
    group by subject_key, day
    """,
    "insert into moved select key, day, 0, 0, 1, 0 from shown",
    "insert into moved select key, hour::date, 0, 0, 0, sum(plays) from hours group by key, hour::date",
    f"""
    create temp table counted as
    select key, any_value(artist) as artist, any_value(is_public) as is_public, moved.day as day, {_SUMS}
    from moved join shown using (key)
    group by key, moved.day
    """,
    """
    create temp table liking as
    select artist, hash(liked.did) as liker, min(least(liked.created_at, liked.indexed_at))::date as day
    from visible_likes as liked join listed on listed.key = liked.subject_key
    group by artist, liker
    """,
)
_HOURS: Final = "sum(plays)::integer as plays from hours join listed using (key)"
_TABLES: Final = (
    "create table series.meta as select * from meta where name = 'schema_version'",
    f"""
    create table series.all_days as
    select
        0::bigint as subject, day, {_SUMS}, sum(artists)::integer as artists, sum(likers)::integer as likers
    from (
        select day, likes, comments, tracks, plays, 0 as artists, 0 as likers from counted where is_public
        union all
        select min(day), 0, 0, 0, 0, 1, 0 from listed group by artist
        union all
        select min(day), 0, 0, 0, 0, 0, 1 from liking group by liker
    )
    group by day order by day
    """,
    f"""
    create table series.track_days as
    select key as subject, is_public, day, likes, comments, tracks, plays, 0 as artists, likes as likers
    from counted
    union all
    select moved.key, false, moved.day, {_SUMS}, 0, sum(likes)::integer
    from moved join visible_tracks using (key) where visibility = 'private' group by moved.key, moved.day
    order by subject, day
    """,
    f"""
    create table series.artist_days as
    select artist as subject, day, {_SUMS}, 0 as artists, sum(likers)::integer as likers
    from (
        select artist, day, likes, comments, tracks, plays, 0 as likers from counted where is_public
        union all
        select artist, day, 0, 0, 0, 0, count(*) from liking group by artist, day
    )
    group by artist, day order by artist, day
    """,
    f"""
    create table series.tag_days as
    select {{tag}} as subject, day, {_SUMS}, sum(artists)::integer as artists
    from (
        select tag, counted.day, likes, comments, tracks, plays, 0 as artists
        from counted join track_tags on track_tags.track_key = counted.key where is_public
        union all
        select tag, min(day), 0, 0, 0, 0, 1
        from listed join track_tags on track_tags.track_key = listed.key group by tag, artist
    )
    group by tag, day order by subject, day
    """,
    f"""
    create table series.all_hours as
    select 0::bigint as subject, hour, {_HOURS} group by hour order by hour
    """,
    """
    create table series.track_hours as
    select key as subject, coalesce(is_public, false) as is_public, hour, plays
    from hours left join shown using (key) order by key, hour
    """,
    f"""
    create table series.artist_hours as
    select artist as subject, hour, {_HOURS} group by artist, hour order by artist, hour
    """,
    f"""
    create table series.tag_hours as
    select {{tag}} as subject, hour, {_HOURS} join track_tags on track_tags.track_key = key
    group by tag, hour order by subject, hour
    """,
    """
    create table series.artists as
    select distinct artist as subject, did as name from listed order by subject
    """,
    """
    create table series.tags as
    select distinct {tag} as subject, tag as name
    from listed join track_tags on track_tags.track_key = listed.key order by subject
    """,
)


class Series:
    """The files `series-N.duckdb` of the folder `snapshots`; N is the snapshot's number."""

    def __init__(self, settings: Settings, work: WorkDatabase) -> None:
        self._settings = settings
        self._work = work
        self._folder = settings.data_dir / data_folder.SNAPSHOTS
        self.newest = settings.data_dir / data_folder.NEWEST_SERIES  # a link
        self._before: Path | None = None  # the last file, if it has all plays up to its last hour

    def are_of(self, snapshot: Path) -> bool:
        """True when the newest series are of this snapshot."""
        return self.newest.exists() and number_of(self.newest.resolve()) == number_of(snapshot.resolve())

    def publish(self, snapshot: Path) -> Path:
        """Count a snapshot, make the file the current one, and prune. Raises StoreError."""
        target = self._folder / f"series-{number_of(snapshot)}.duckdb"
        with replacing(target) as partial:
            partial.unlink(missing_ok=True)
            has_plays = self._count(snapshot, partial)
        point(self.newest, target)
        self._before = target if has_plays else None
        prune(self._folder, "series")
        return target

    def _count(self, snapshot: Path, target: Path) -> bool:
        """Write the file. False when it has no plays, since the state database is away."""
        numbers = {name: SUBJECT.format(name=column) for name, column in (("artist", "did"), ("tag", "tag"))}
        with self._work.open(Path(f"{target}.tmp"), MEMORY) as con:
            con.execute(f"attach '{quoted(snapshot)}' as catalogue (read_only)")
            con.execute(f"attach '{quoted(target)}' as series")
            con.execute("use catalogue")
            has_plays = self._load_hours(con)
            for statement in (_SHOWN, _LISTED, *_MOVED, *_TABLES):
                con.execute(statement.format(**numbers))
            con.execute("use memory")
            con.execute("detach series")
        return has_plays

    def _load_hours(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Make the table `hours`: from the last file, and the state database if it is there."""
        con.execute("create temp table hours (key bigint, hour timestamp, plays integer)")
        oldest = datetime.now(UTC) - HOURS_KEPT
        if self._before is None:
            return load_hours(con, self._settings, oldest)
        con.execute(f"attach '{quoted(self._before)}' as before (read_only)")
        [(last,)] = con.execute("select max(hour) from before.track_hours").fetchall()
        since = oldest if last is None else last.replace(tzinfo=UTC) - GROWING
        until = since if load_hours(con, self._settings, since) else datetime.max.replace(tzinfo=UTC)
        con.execute(
            "insert into hours select subject, hour, plays "
            "from before.track_hours where hour >= ? and hour < ?",
            [to_utc(oldest), to_utc(until)],
        )
        con.execute("detach before")
        return True
