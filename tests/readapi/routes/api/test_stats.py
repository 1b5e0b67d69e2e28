"""Totals over what may be seen."""

import shutil
from pathlib import Path

import duckdb
import pytest

from schemas import data_folder
from schemas.api.stats import Stats
from tests.indexer.running import until
from tests.readapi.music import playing

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_totals_leave_private_tracks_out(music):
    """Mara's eleven and Ben's one; likes count people, and only on tracks that count."""
    stats = Stats.model_validate((await music.get("/stats")).json, strict=True)

    assert stats.total_tracks == 12
    assert stats.total_artists == 2
    assert stats.total_likes == 4
    assert stats.total_comments == 2
    assert stats.total_albums == 1
    assert stats.total_playlists == 1
    assert stats.total_duration_seconds == 11 * 60 + 184


AGGREGATES = (
    "/stats",
    "/tracks/tags",
    *(f"/tracks/top?period={period}" for period in ("all_time", "month", "week", "day")),
)


def churn(snapshot: Path) -> None:
    """Rewrite many likes, as the network does: DuckDB keeps marks of the deleted ones in memory."""
    with duckdb.connect(snapshot) as con:
        con.execute("create temp table likely as select * from likes limit 1")
        con.execute("insert into likes select likely.* replace (range as key) from likely, range(400_000)")
        con.execute("checkpoint")
        con.execute("delete from likes where key % 50 = 0")


@pytest.mark.slow
async def test_aggregates_answer_after_churn(tmp_path):
    """Memory that DuckDB does not give back fails no answer, neither the first nor a later one."""
    async with playing(tmp_path) as served:
        folder = tmp_path / data_folder.SNAPSHOTS
        shutil.copy(folder / "current", folder / "catalog-900.duckdb")
        churn(folder / "catalog-900.duckdb")
        (folder / "next").symlink_to("catalog-900.duckdb")
        (folder / "next").replace(folder / "current")
        await until(lambda: served.stores.catalog.version == "catalog-900.duckdb")

        statuses = {path: (await served.get(path)).status for path in AGGREGATES * 2}

    assert statuses == dict.fromkeys(AGGREGATES, 200)
