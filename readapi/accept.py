"""What a client would like to get: its Accept header."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# For answers that depend on it, and so are made anew for each request.
BY_ACCEPT: Mapping[str, str] = MappingProxyType({"Vary": "Accept"})


@dataclass(frozen=True, slots=True)
class Accept:
    """The header as it came; empty when there was none."""

    header: str

    def prefers(self, wanted: str, otherwise: str) -> bool:
        """True when it puts one media type before another. Wildcards do not count."""
        weights = {wanted: 0.0, otherwise: 0.0}
        for part in self.header.split(","):
            media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
            if media_type in weights:
                weights[media_type] = _weight(parameters)
        return weights[wanted] > weights[otherwise]


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
