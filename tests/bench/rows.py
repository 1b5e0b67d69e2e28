"""What a measurement says: one JSON line."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A figure. `ratio_to` maps the name of a reference, measured in the same run, to value / its value."""

    name: str
    value: float
    unit: str
    ratio_to: Mapping[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """The figure as `make bench` prints it."""
        return json.dumps(self.as_json(), ensure_ascii=False)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def rounded(value: float) -> float:
    """To three significant digits: what a measurement is good for."""
    return float(f"{value:.3g}") if abs(value) < 1000 else float(round(value))
