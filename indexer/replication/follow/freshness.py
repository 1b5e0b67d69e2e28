"""The health report of a follower: the publisher's report, with the time since it was made added. Pure."""

from typing import Any, Final, NamedTuple

from indexer.replication.manifest import Manifest

SILENT_SECONDS: Final = 15.0  # without a manifest, which is written every second


class Shown(NamedTuple):
    """A manifest that is shown, and when it arrived by a clock that only goes forward."""

    manifest: Manifest
    arrived: float


def report(shown: Shown, now: float, unix_now: float, replication: list[str]) -> dict[str, Any]:
    """The health report of the data folder, in the form of the indexer's own.

    The lag is never understated: it is the publisher's lag and the longer of two ages, the time since the
    manifest arrived and the manifest's age by both machines' clocks.
    `replication`: sentences about what is wrong with following.
    """
    said = shown.manifest.report
    age = max(now - shown.arrived, unix_now - shown.manifest.at, 0.0)
    lag = said.get("lag_seconds")
    is_silent = age > SILENT_SECONDS
    silence = [f"No indexer has published anything for {age:.0f} s."] if is_silent else []
    told = {**said, "lag_seconds": None if lag is None else lag + age}
    source = said.get("source")
    if is_silent and isinstance(source, dict):
        told["source"] = {**source, "connected": False, "error": silence[0], "retry_in": None}
    told["warnings"] = [*said.get("warnings", []), *silence, *replication]
    return told | {
        "node": shown.manifest.node,
        "epoch": shown.manifest.epoch,
        "number": shown.manifest.number,
    }
