"""The report of abuse for the operator: who does much, and which tracks' likes are suspicious."""

from datetime import UTC, datetime, timedelta
from typing import Any

from readapi.index.queries import abuse
from readapi.index.queries.abuse import Thresholds
from readapi.index.snapshots.interface import Snapshots
from readapi.state.state import State
from schemas import datetimes
from schemas.settings import Settings


async def make_report(settings: Settings, state: State, catalog: Snapshots) -> dict[str, Any]:
    """The report, as JSON tells it. Raises IndexNotReady."""
    thresholds = Thresholds(
        settings.busy_per_hour,
        settings.suspect_likes,
        settings.suspect_fresh_percent,
        settings.suspect_burst,
        timedelta(hours=settings.fresh_hours),
    )
    now = state.database.now()
    accounts = await abuse.list_busy_accounts(catalog, now, thresholds.busy)
    tracks = await abuse.list_suspicious_tracks(catalog, now, thresholds)
    busiest = await state.activity.busiest(thresholds.busy, abuse.MOST)
    return {
        "made_at": datetimes.render(now),
        "accounts": [
            {"did": one.did, "kind": one.kind, "hour": _time(one.hour), "count": one.count}
            for one in accounts
        ],
        "here": [
            {"who": one.who, "kind": one.kind, "hour": _time(one.hour), "count": one.times} for one in busiest
        ],
        "tracks": [
            {"uri": one.uri, "likes": one.likes, "fresh": one.fresh, "usual": round(one.usual, 1)}
            for one in tracks
        ],
    }


def _time(hour: datetime) -> str:
    return datetimes.render(hour if hour.tzinfo is not None else hour.replace(tzinfo=UTC))
