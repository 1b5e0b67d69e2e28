"""Totals over what may be seen."""

import pytest

from schemas.api.stats import Stats

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
