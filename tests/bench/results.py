"""Keeps the last figures in `results.json`, and tells them in `RESULTS.md`."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tests.bench import goals, plot
from tests.bench.api import BY_CPU
from tests.bench.rows import Row

FOLDER: Final = Path(__file__).parent
OTHER_SIZE: Final = "other_size"  # what was measured last with a catalogue of another size

Json = dict[str, Any]


def kept() -> Json:
    """What was measured last."""
    path = FOLDER / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(**sections: Any) -> None:
    """Replace sections of what is kept, draw the plot and write the page."""
    known = kept() | sections
    (FOLDER / "results.json").write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    if known.get("curves"):
        plot.draw(known["curves"], FOLDER / "latency.png")
    (FOLDER / "RESULTS.md").write_text("\n".join(page(known)))


def page(known: Json) -> Iterable[str]:
    """The lines of RESULTS.md."""
    machine = "\n".join(f"- {name}: {what}" for name, what in known.get("machine", {}).items())
    yield (FOLDER / "method.md").read_text().format(machine=machine, **known["size"])
    rows = {row["name"]: Row(**row) for row in known["rows"]}
    yield from _goals(rows)
    if known.get("curves"):
        yield from ("## Latency against load", "", "![Latency against load](latency.png)", "")
    if other := known.get(OTHER_SIZE):
        yield from _growth(rows, other)
    yield from _soak(known.get("soak"))
    yield from _all(rows.values())


def _goals(rows: dict[str, Row]) -> Iterable[str]:
    judged = goals.judged(rows)
    yield from ("## Against the goals", "", "| what | goal | reached | |", "|---|---|---|---|")
    for goal, row in judged:
        yield f"| {row.name} | {goal.words} | {goal.reached(row):g} | {'' if goal.is_met(row) else 'short'} |"
    short = [row.name for goal, row in judged if not goal.is_met(row)]
    yield from ("", f"Short of the goal: {'; '.join(short) or 'nothing'}.", "")


def _all(rows: Iterable[Row]) -> Iterable[str]:
    yield from ("## Everything", "", "| what | value | unit | ratios |", "|---|---|---|---|")
    for row in rows:
        ratios = "; ".join(f"{ratio:g} × {name}" for name, ratio in row.ratio_to.items())
        yield f"| {row.name} | {row.value:,g} | {row.unit} | {ratios} |"
    yield ""


def _growth(rows: dict[str, Row], other: Json) -> Iterable[str]:
    """What the figures become with another size of the catalogue."""
    size, machine = other["size"], other["machine"]
    yield f"## With {size['tracks']:,} tracks and {size['likes']:,} likes"
    yield from (
        "",
        f"Measured {machine['measured']} on {machine['file system']} at {machine['speed']}. *Growth*: how",
        "many times dearer than with the usual size: by the ratios to the reference where there are, else by",
        "the values, in which the speed of the machine counts, too.",
        "",
        "| what | value | unit | growth |",
        "|---|---|---|---|",
    )
    for row in (Row(**row) for row in other["rows"]):
        usual = rows.get(row.name)
        growth = f"{grown(usual, row):.2f}" if usual is not None else ""
        yield f"| {row.name} | {row.value:,g} | {row.unit} | {growth} |"
    yield ""


def grown(usual: Row, other: Row) -> float:
    """How many times dearer the other is."""
    if BY_CPU in usual.ratio_to and BY_CPU in other.ratio_to:
        return usual.ratio_to[BY_CPU] / other.ratio_to[BY_CPU]
    is_throughput = "/s" in other.unit or "per CPU second" in other.unit
    of, to = (usual, other) if is_throughput else (other, usual)
    return of.value / to.value if to.value else 1.0


def _soak(soak: Json | None) -> Iterable[str]:
    yield from ("## Soak", "")
    if soak is None:
        yield from ("Not run.", "")
        return
    yield from (
        "`fmsvc-server serve` on its defaults, a relay that sends as fast as it is read, readers at the API.",
        "",
        "| what | |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value} |" for name, value in soak.items()),
        "",
    )
