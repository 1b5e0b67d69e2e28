"""The JSON-LD of pages, against the vocabulary of schema.org as `schema-dts` types it."""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.features.pages.published import SLOW, Published
from tests.network.testnet import NODE

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODULES = Path(__file__).parents[2] / "consumers" / "node_modules"
STRICT = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2023", "--module", "nodenext")
BROWSERS = {"Accept": "text/html"}
SCRIPT = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)


async def told(site: Published) -> dict[str, dict[str, Any]]:
    """What each kind of page says of itself."""
    pages = (
        *("/", "/search?q=slow", "/top", "/new", "/tags", "/tag/ambient"),
        *(f"/track/{site.track(SLOW)}", "/u/mara.example", "/u/mara.example/album/ninety-nights"),
        f"/playlist/{site.list('ben')}",
    )
    found = {}
    for page in pages:
        async with site.get(page, headers=BROWSERS) as answer:
            assert answer.status == 200, page
            (script,) = SCRIPT.findall(await answer.text())
        found[page] = json.loads(script)
    return found


def complaints(folder: Path, *constants: tuple[str, object]) -> str:
    """What TypeScript says of constants of these types; empty when it finds nothing."""
    if not MODULES.is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("not installed: npm --prefix tests/consumers ci --ignore-scripts")
    (folder / "node_modules").symlink_to(MODULES)
    lines = ['import type * as schema from "schema-dts";']
    lines += [f"const v{n}: {kind} = {json.dumps(value)};" for n, (kind, value) in enumerate(constants)]
    (folder / "told.mts").write_text("\n".join(lines))
    compiler = MODULES / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [NODE, compiler, *STRICT, "told.mts"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.mark.slow
async def test_each_page_is_described_by_types_and_members_that_exist(
    site: Published, tmp_path: Path
) -> None:
    """Types, members, and what each member may hold."""
    found = await told(site)
    action = found["/"].pop("potentialAction")

    typed = [(f"schema.WithContext<schema.{one['@type']}>", one) for one in found.values()]
    search = ("schema.WithActionConstraints<schema.SearchAction>", action)

    assert {one["@type"] for one in found.values()} >= {
        *("WebSite", "WebPage", "MusicRecording", "MusicAlbum", "MusicPlaylist", "MusicGroup"),
    }
    assert await asyncio.to_thread(complaints, tmp_path, *typed, search) == ""


@pytest.mark.slow
async def test_what_does_not_exist_is_found(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    wrong = {"@context": "https://schema.org", "@type": "MusicRecording", "singer": "Ada"}

    said = await asyncio.to_thread(complaints, tmp_path, ("schema.WithContext<schema.MusicRecording>", wrong))

    assert "'\"singer\"' does not exist" in said
