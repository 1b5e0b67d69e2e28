"""Lighthouse finds the pages quick, accessible, and fit for search engines."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.features.pages.browser import find_chromium
from tests.features.pages.published import SLOW, Published
from tests.network.testnet import NODE

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONSUMERS = Path(__file__).parents[2] / "consumers"
SECONDS = 400  # sixteen runs on a slow machine
LEAST_PERFORMANCE = 95  # of a mid-range phone: lighthouse.mjs takes the speed of this machine into account


async def measured(site: Published, *paths: str) -> dict[str, Any]:
    """Lighthouse's scores of these pages, and the audits but those of performance that they fail, by path."""
    chromium = find_chromium()
    if chromium is None or not (CONSUMERS / "node_modules" / "lighthouse").is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("needs chromium, and lighthouse: npm --prefix tests/consumers ci --ignore-scripts")
    process = await asyncio.create_subprocess_exec(
        NODE,
        CONSUMERS / "lighthouse.mjs",
        chromium,
        *(site.address + path for path in paths),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complaint = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, complaint.decode()
    return {address.removeprefix(site.address): told for address, told in json.loads(said).items()}


@pytest.mark.slow
async def test_lighthouse_finds_nothing_to_improve(site: Published) -> None:
    """On the home page, results of a search and a track, as on a phone with its slow network."""
    scores = await measured(site, "/", "/search?q=water", f"/track/{site.track(SLOW)}")

    for path, told in scores.items():
        print(path, told)
        assert told["performance"] >= LEAST_PERFORMANCE, (path, told)
        assert told["accessibility"] == told["seo"] == 100, (path, told)
