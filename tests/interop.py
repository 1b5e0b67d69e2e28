"""The protocol's public test vectors: https://github.com/bluesky-social/atproto-interop-tests (CC-0)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent
WHERE = (
    "needs the protocol's public test vectors: clone https://github.com/bluesky-social/atproto-interop-tests "
    "and set FMSVC_INTEROP to its folder"
)


def _open(path: str) -> Path:
    named = os.environ.get("FMSVC_INTEROP")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "interop"
    if not (folder / path).exists():
        pytest.skip(WHERE)
    return folder / path


def lines(path: str) -> list[str]:
    """The cases of a text file: one a line, as they stand; `#` begins a comment."""
    text = _open(path).read_text("utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def cases(path: str) -> Any:
    """The cases of a JSON file."""
    return json.loads(_open(path).read_text("utf-8"))
