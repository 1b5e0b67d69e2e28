"""Totals over all public records."""

from readapi.index.snapshots.interface import Snapshots
from schemas import datetimes
from schemas.api.stats import Stats

TOTALS = """
    with tracks as (
        select visible.did, visible.duration, counts.likes, counts.comments, counts.plays
        from visible_tracks as visible
        left join track_counts as counts on counts.subject_key = visible.key
        where visible.visibility <> 'private'
    )
    select
        coalesce(sum(plays), 0)::bigint,
        count(*),
        count(distinct did),
        coalesce(sum(duration), 0)::bigint,
        coalesce(sum(likes), 0)::bigint,
        coalesce(sum(comments), 0)::bigint,
        (select count(*) from visible_lists where list_type = 'album'),
        (select count(*) from visible_lists where coalesce(list_type, 'playlist') = 'playlist')
    from tracks
"""


async def count_totals(catalog: Snapshots) -> Stats:
    """The totals. Likes count an account once per track; artists are accounts with a track."""
    (row,), as_of = await catalog.rows(TOTALS)
    plays, tracks, artists, duration, likes, comments, albums, playlists = row
    return Stats(
        total_plays=plays,
        total_tracks=tracks,
        total_artists=artists,
        total_duration_seconds=duration,
        total_likes=likes,
        total_comments=comments,
        total_albums=albums,
        total_playlists=playlists,
        as_of=datetimes.render(as_of),
    )
