"""What axe finds on a page that would keep somebody from using it."""

import os
from pathlib import Path

import pytest

from tests.readapi.pages.browser import Page

AXE = Path(__file__).parents[2] / "consumers" / "node_modules" / "axe-core" / "axe.min.js"


async def barriers(page: Page) -> list[tuple[str, list[str]]]:
    """Rules that are broken, and where: names, roles, landmarks, and contrast in light and in dark."""
    if not AXE.exists():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("axe-core is not installed: npm --prefix tests/consumers ci --ignore-scripts")
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run().then((result) => result.violations)")
    await page.paint("dark")
    found += await page.evaluate(
        "axe.run({ runOnly: ['color-contrast'] }).then((result) => result.violations)"
    )
    await page.paint("light")
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
