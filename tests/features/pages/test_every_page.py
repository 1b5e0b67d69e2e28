"""Every page there is: small, without barriers, and without complaint from the browser, light and dark."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from readapi.answers import HTML
from readapi.processes.app import all_endpoints
from readapi.state.notices import NewNotice, Statement
from readapi.state.state import open_state
from tests.features.pages.barriers import barriers
from tests.features.pages.browser import Browser, Page
from tests.features.pages.published import HOSTILE, SLOW, SUPPORTERS, Published
from tests.indexer.changes import did
from tests.readapi.state.publishing import made

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_BYTES = 30 * 1024
PHONE, DESKTOP = (360, 740), (1280, 800)
SHOWN = """({ path: location.pathname, fits: document.documentElement.scrollWidth <= innerWidth,
  size: performance.getEntriesByType("navigation")[0].decodedBodySize })"""
SWAGGER_RULES = ("label", "select-name", "button-name", "landmark-main-is-top-level")  # that /docs is held to

Who = Literal["stranger", "ben", "mara"]  # ben listens and moderates, mara is the artist
# By whom and where each page is looked at. `{...}` is filled in by `filled`.
PAGES: Mapping[str, Sequence[tuple[Who, str]]] = {
    "/": [("stranger", "/")],
    "/about": [("stranger", "/about")],
    "/admin": [("ben", "/admin")],
    "/admin/abuse": [("ben", "/admin/abuse")],
    "/admin/log": [("ben", "/admin/log")],
    "/auth/start": [("stranger", "/auth/start?handle=mara.example")],
    "/data": [("stranger", "/data")],
    "/data/sql": [("stranger", "/data/sql")],
    "/docs": [("stranger", "/docs")],
    "/embed/album/{handle}/{slug}": [("stranger", "/embed/album/mara.example/ninety-nights")],
    "/embed/artist/{handle}": [("stranger", "/embed/artist/mara.example")],
    "/embed/playlist/{playlist_id}": [("stranger", "/embed/playlist/{list}")],
    "/embed/track/{track_id}": [
        ("stranger", "/embed/track/{slow}"),
        ("stranger", "/embed/track/{supporters}"),
        ("stranger", "/embed/track/{hostile}"),
    ],
    "/liked": [("ben", "/liked"), ("mara", "/liked")],
    "/login": [("stranger", "/login?note=sign-in-first&to=/track/{slow}")],
    "/login/arrived": [("stranger", "/login/arrived?exchange_token=" + "x" * 43)],
    "/login/return": [("stranger", "/login/return?error=expired")],
    "/new": [("stranger", "/new")],
    "/notice": [("ben", "/notice?subject={mara}")],
    "/notices/{number}": [("mara", "/notices/{notice}"), ("ben", "/notices/{notice}")],
    "/playlist/{playlist_id}": [("stranger", "/playlist/{list}")],
    "/playlists": [("ben", "/playlists"), ("mara", "/playlists?note=permission-missing")],
    "/playlists/{playlist_id}": [("ben", "/playlists/{list}")],
    "/portal": [("mara", "/portal"), ("ben", "/portal")],
    "/portal/albums": [("mara", "/portal/albums")],
    "/portal/albums/{album_id}": [("mara", "/portal/albums/{album}")],
    "/portal/defaults": [("mara", "/portal/defaults")],
    "/portal/jobs/{job_id}": [("mara", "/portal/jobs/{job}")],
    "/portal/numbers": [("mara", "/portal/numbers"), ("mara", "/portal/numbers?track={slow}")],
    "/portal/profile": [("mara", "/portal/profile"), ("ben", "/portal/profile")],
    "/portal/tracks/{track_id}": [("mara", "/portal/tracks/{slow}")],
    "/portal/uploads/{upload_id}": [("mara", "/portal/uploads/{upload}")],
    "/privacy": [("stranger", "/privacy")],
    "/report": [("ben", "/report?subject=at://{mara}/fm.svc.actor.profile/self")],
    "/search/": [
        ("stranger", "/search"),
        ("stranger", "/search?q=slow"),
        ("stranger", "/search?q=mara&type=artists"),
    ],
    "/settings": [("ben", "/settings")],
    "/tag/{name:.+}": [("stranger", "/tag/ambient")],
    "/tags": [("stranger", "/tags")],
    "/terms": [("stranger", "/terms")],
    "/top": [("stranger", "/top"), ("stranger", "/top?period=all_time")],
    "/track/{track_id}": [
        ("stranger", "/track/{slow}"),
        ("stranger", "/track/{supporters}"),
        ("stranger", "/track/{hostile}"),
        ("ben", "/track/{slow}"),
    ],
    "/u/{handle}": [("stranger", "/u/mara.example"), ("stranger", "/u/ben.example")],
    "/u/{handle}/album/{slug}": [("stranger", "/u/mara.example/album/ninety-nights")],
    "/u/{handle}/likes": [("stranger", "/u/ben.example/likes")],
}


async def test_every_page_has_a_row() -> None:
    """A page without one here is tested by nobody."""
    pages = {one.path for one in all_endpoints() if one.method == "GET" and HTML in one.media_types}

    assert pages == PAGES.keys()


@pytest.mark.parametrize("who", ["stranger", "ben", "mara"])
@pytest.mark.slow
async def test_pages_are_small_without_barriers_and_fit_a_phone(
    site: Published, chromium: Browser, who: Who
) -> None:
    """For axe, light and dark, and for the browser under each page's policy."""
    values, found = await filled(site), {}
    page = await chromium.page(f"{site.address}/openapi.json", *PHONE, profile=await chromium.profile())
    for path in [path.format_map(values) for rows in PAGES.values() for by, path in rows if by == who]:
        if who != "stranger":
            # One for each: the Portal asks servers that know nothing of these accounts, which ends sessions.
            session = {"name": "session_id", "value": await site.session(who), "url": site.address}
            await page.call("Network.setCookie", **session, httpOnly=True)
        page.complaints.clear()
        await page.open(site.address + path)
        shown = await page.evaluate(SHOWN)
        is_small, is_there = shown["size"] <= MOST_BYTES, shown["path"] == path.partition("?")[0]
        rules = [
            one for one in await barriers(page) if not path.startswith("/docs") or one[0] in SWAGGER_RULES
        ]
        is_right = is_small and shown["fits"] and (is_there or path.startswith("/login/return"))
        if rules or page.complaints or not is_right:
            found[path] = (rules, list(page.complaints), shown)
        await photograph(page, who, path)

    assert found == {}


async def filled(site: Published) -> dict[str, str]:
    """What the addresses of pages name; the upload and the job of mara wait for ever."""
    async with open_state(site.settings) as state:
        upload = await made.upload(state, did=did("mara"))
        job = await made.job(state, did=did("mara"))
        claim = Statement("Ida Holm", "ida@example.com", "The song is mine.")
        notice = await state.notices.add(NewNotice(did("mara"), did("mara"), claim, did("ben")), most=100)
    return {
        "slow": site.track(SLOW), "supporters": site.track(SUPPORTERS), "hostile": site.track(HOSTILE),
        "list": site.list("ben"), "album": site.list("mara"), "mara": did("mara"),
        "upload": upload.id, "job": job, "notice": str(notice.number),
    }  # fmt: skip


async def photograph(page: Page, who: Who, path: str) -> None:
    """Pictures of a page on a phone and on a desktop, light and dark, if a folder for these is named."""
    folder = os.environ.get("FMSVC_TEST_SCREENSHOTS")
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\d{6,}[-\d]*|did:plc:", "", path.lower())).strip("-") or "home"
    for kind, (width, height) in (("phone", PHONE), ("desktop", DESKTOP)):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await page.call("Emulation.setDeviceMetricsOverride", **metrics)
        for scheme in ("light", "dark"):
            await page.paint(scheme)
            await page.screenshot(Path(folder) / f"{name}-{who}-{kind}-{scheme}.png", whole=True)
    await page.paint("light")
    await page.call(
        "Emulation.setDeviceMetricsOverride",
        width=PHONE[0],
        height=PHONE[1],
        deviceScaleFactor=1,
        mobile=False,
    )
