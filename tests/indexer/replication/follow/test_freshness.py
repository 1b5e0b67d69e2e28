"""The lag that a follower tells is never less than it is."""

from typing import Any

from indexer.replication.follow.freshness import SILENT_SECONDS, Shown, report
from indexer.replication.manifest import Manifest

SAID: dict[str, Any] = {
    "source": {"name": "relay", "connected": True, "error": None},
    "lag_seconds": 2.0,
    "warnings": ["The disk is nearly full."],
}


def shown(**said: Any) -> Shown:
    """A manifest made at 1000 s of Unix time, which arrived at 50 s of ours."""
    return Shown(Manifest(node="a", epoch=3, number=7, at=1000.0, report=SAID | said), 50.0)


def test_the_lag_grows_with_the_time_since_the_manifest() -> None:
    """By the clock of the follower, and by the clocks of both if that says more."""
    assert report(shown(), now=51.0, unix_now=1000.5, replication=[])["lag_seconds"] == 3.0
    assert report(shown(), now=51.0, unix_now=1004.0, replication=[])["lag_seconds"] == 6.0
    assert report(shown(), now=51.0, unix_now=10.0, replication=[])["lag_seconds"] == 3.0


def test_an_unknown_lag_stays_unknown() -> None:
    """It is not zero."""
    assert report(shown(lag_seconds=None), now=51.0, unix_now=1001.0, replication=[])["lag_seconds"] is None


def test_silence_is_told() -> None:
    """The source counts as disconnected, with the reason, so that /ready says why answers are old."""
    told = report(shown(), now=50 + SILENT_SECONDS + 1, unix_now=1000.0, replication=["It is full."])

    assert told["source"]["connected"] is False
    assert told["source"]["error"] == "No indexer has published anything for 16 s."
    assert told["warnings"] == ["The disk is nearly full.", told["source"]["error"], "It is full."]
    assert (told["node"], told["epoch"], told["number"]) == ("a", 3, 7)
