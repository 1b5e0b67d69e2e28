"""What looks like abuse in a snapshot: accounts that like or comment much, and tracks with suspicious likes.

Times are those at which this index verified the records: what records say of themselves can be invented.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from readapi.index.snapshots.interface import Snapshots

MOST: Final = 100  # of each list
DAY: Final = timedelta(days=1)
BEFORE: Final = timedelta(days=30)  # of which the usual likes of a day are the mean

BUSY = """
    with done as (
        select did, 'like' as kind, date_trunc('hour', verified_at) as hour from visible_likes
        where verified_at >= $since
        union all
        select did, 'comment', date_trunc('hour', verified_at) from visible_comments
        where verified_at >= $since
    ),
    hours as (select did, kind, hour, count(*) as count from done group by all having count(*) >= $least)
    select did, kind, max(hour), max(count) from hours
    group by did, kind
    order by 4 desc, did
    limit $most
"""

SUSPICIOUS = """
    with recent as (
        select distinct subject_key, did from visible_likes where verified_at >= $since
    ),
    liked as (
        select subject_key from recent group by subject_key having count(*) >= $least
    ),
    met as (
        select did, min(verified_at) as since from visible_likes
        where did in (select did from recent where subject_key in (select subject_key from liked))
        group by did
    ),
    counted as (
        select subject_key, count(*) as likes, count(*) filter (met.since >= $fresh) as fresh
        from recent join met using (did)
        where subject_key in (select subject_key from liked)
        group by subject_key
    ),
    usual as (
        select subject_key, count(*) / $days as likes from visible_likes
        where subject_key in (select subject_key from liked)
            and verified_at >= $before and verified_at < $since
        group by subject_key
    )
    select tracks.uri, counted.likes, counted.fresh, coalesce(usual.likes, 0)
    from counted
    join visible_tracks as tracks on tracks.key = counted.subject_key
    left join usual on usual.subject_key = counted.subject_key
    where counted.fresh * 100 >= counted.likes * $percent
        or counted.likes >= $burst * greatest(coalesce(usual.likes, 0), 1)
    order by counted.likes desc, tracks.uri
    limit $most
"""


@dataclass(frozen=True, slots=True)
class BusyAccount:
    """An account's likes or comments in its busiest hour of the last day, whichever program wrote them."""

    did: str
    kind: str
    hour: datetime
    count: int


@dataclass(frozen=True, slots=True)
class SuspiciousTrack:
    """A track's likes of the last day, those of fresh accounts among them, and its usual likes of a day."""

    uri: str
    likes: int
    fresh: int
    usual: float


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds from which activity is reported.

    `percent`: share of fresh accounts; `burst`: multiple of the usual daily likes.
    """

    busy: int
    likes: int
    percent: int
    burst: int
    fresh: timedelta


async def list_busy_accounts(catalog: Snapshots, now: datetime, least: int) -> list[BusyAccount]:
    """Accounts with as many likes or comments within an hour of the last day, the most first."""
    since = now.replace(tzinfo=None) - DAY
    rows, _ = await catalog.rows(BUSY, since=since, least=least, most=MOST)
    return [BusyAccount(*row) for row in rows]


async def list_suspicious_tracks(
    catalog: Snapshots, now: datetime, thresholds: Thresholds
) -> list[SuspiciousTrack]:
    """Tracks whose likes of the last day come in a burst, or of fresh accounts: the most liked first.

    Fresh is an account whose first like was met within `fresh`.
    """
    at = now.replace(tzinfo=None)
    rows, _ = await catalog.rows(
        SUSPICIOUS,
        since=at - DAY,
        fresh=at - thresholds.fresh,
        before=at - DAY - BEFORE,
        days=float(BEFORE.days),
        least=thresholds.likes,
        percent=thresholds.percent,
        burst=thresholds.burst,
        most=MOST,
    )
    return [SuspiciousTrack(*row) for row in rows]
