"""Latency against load, as a picture."""

from pathlib import Path
from typing import Any


def draw(curves: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """A line for each route: what a request takes, beside how many are answered, for 1 to 64 connections."""
    import matplotlib  # takes a second, and its pictures are seldom wanted

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (median, slowest) = pyplot.subplots(1, 2, figsize=(12, 5), sharey=True)
    for axes, percentile in ((median, "p50"), (slowest, "p99")):
        for name, loads in curves.items():
            asked = [load["per_second"] for load in loads]
            axes.plot(asked, [load[percentile] for load in loads], marker="o", markersize=3, label=name)
        axes.set(xscale="log", yscale="log", xlabel="requests answered per second", title=percentile)
        axes.grid(visible=True, which="both", alpha=0.2)
    median.set_ylabel("milliseconds")
    slowest.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.suptitle("One worker on one core; each point of a line has twice the connections, from 1 to 64")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
