"""An artist's numbers: weeks in, charts, sums and CSV out."""

from datetime import UTC, datetime

from readapi.index.queries.series import Week
from readapi.pages.portal import numbers
from tests.readapi.pages.examples import track

FIRST, SECOND, THIRD = (datetime(2026, 3, day, tzinfo=UTC) for day in (2, 9, 16))
WEEKS = [Week(7, FIRST, 3, 1, 0), Week(7, THIRD, 5, 0, 2), Week(8, SECOND, 1, 0, 0)]


def test_weeks_without_anything_have_bars_of_nothing():
    """There is a chart for each of plays, likes and comments."""
    charts = numbers.draw_charts([FIRST, SECOND, THIRD], WEEKS[:2])

    assert [chart.title for chart in charts] == ["Plays", "Likes", "Comments"]
    assert [[bar.count for bar in chart.bars] for chart in charts] == [[3, 0, 5], [1, 0, 0], [0, 0, 2]]


def test_tracks_are_added_up_in_their_order():
    """One without any week has zeros."""
    known = {8: track(id=80, title="Eight"), 9: track(id=90, title="Nine"), 7: track(id=70, title="Seven")}

    assert [(one.title, one.plays, one.likes, one.comments) for one in numbers.add_up(known, WEEKS)] == [
        ("Eight", 1, 0, 0),
        ("Nine", 0, 0, 0),
        ("Seven", 8, 1, 2),
    ]


def test_csv_has_a_line_for_each_week_of_each_track():
    """By the track's at-uri: a title could be a formula."""
    uris = {7: "at://did:plc:a/fm.svc.track/7", 8: "at://did:plc:a/fm.svc.track/8"}

    assert numbers.write_csv(uris, WEEKS).decode().splitlines() == [
        "week,track,plays,likes,comments",
        "2026-03-02,at://did:plc:a/fm.svc.track/7,3,1,0",
        "2026-03-16,at://did:plc:a/fm.svc.track/7,5,0,2",
        "2026-03-09,at://did:plc:a/fm.svc.track/8,1,0,0",
    ]
