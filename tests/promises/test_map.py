"""The map of the modules is true."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_map_is_what_the_modules_say_of_themselves() -> None:
    """`make map` writes it; a module without a first line says nothing there, and fails."""
    page = str(runpy.run_path(str(ROOT / "docs" / "map.py"))["page"]())

    assert (ROOT / "docs" / "map.md").read_text() == page, "run make map"
    assert not [line for line in page.splitlines() if line.endswith(".py`")]
