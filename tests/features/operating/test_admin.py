"""Pages for moderators: what they decide is logged with their name, and nobody else has the pages."""

import csv
import io
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from readapi.state.reports import NewReport
from tests.indexer.changes import did, uri
from tests.indexer.running import until
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACK, OTHER = str(uri("mara", "track", 1)), str(uri("mara", "track", 2))
FORM = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
PAGES = ("/admin", "/admin/log", "/admin/transparency.json", "/admin/transparency.csv")
SPAM = "com.atproto.moderation.defs#reasonSpam"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker whose moderator is Ida; two things are reported."""
    async with listening(tmp_path_factory.mktemp("stage"), admins=(did("ida"),)) as stage:
        for subject, why in ((TRACK, "It is <b>copied</b>."), (did("ben"), "He sells watches.")):
            await stage.state.reports.add(NewReport(subject, None, SPAM, why, did("lost")))
        yield stage


async def post(stage: Listening, path: str, body: str, **login: str) -> int:
    """Send a form, and the status of what comes back, not followed."""
    headers = {name.replace("_", "-"): value for name, value in {**FORM, **login}.items()}
    asked = stage.music.client.post(
        stage.music.address + path, data=body.encode(), headers=headers, allow_redirects=False
    )
    async with asked as answer:
        return answer.status


async def test_nobody_else_has_the_pages(stage: Listening) -> None:
    """Neither read nor written: the answer is that of an address that does not exist."""
    for login in ({}, await stage.as_("mara")):
        for path in PAGES:
            assert (await stage.music.get(path, Accept="text/html", **login)).status == 404
        for path, body in (
            ("/admin/takedown", f"subject={TRACK}&action=takedown&reason=x"),
            ("/admin/label", f"subject={TRACK}&value=porn&reason=x"),
            ("/admin/reports/1/close", "note=x"),
        ):
            assert await post(stage, path, body, **login) == 404
    assert [one async for one in stage.state.takedown_decisions.log()] == []
    assert (await stage.state.reports.count()) == (2, 0)


async def test_a_moderator_sees_reports_and_closes_them(stage: Listening) -> None:
    ida = await stage.as_("ida")
    page = (await stage.music.get("/admin", Accept="text/html", **ida)).json
    about = (await stage.music.get(f"/admin?about={did('ben')}", Accept="text/html", **ida)).json

    assert "It is &lt;b&gt;copied&lt;/b&gt;." in page
    assert "He sells watches." in page
    assert "copied" not in about
    assert await post(stage, "/admin/reports/1/close", "note=", **ida) == 422
    assert await post(stage, "/admin/reports/1/close", "note=Taken+down.", **ida) == 303
    assert await post(stage, "/admin/reports/1/close", "note=Again.", **ida) == 404
    assert "copied" not in (await stage.music.get("/admin", Accept="text/html", **ida)).json


async def test_decisions_have_their_effect_and_are_reported(stage: Listening) -> None:
    """With the moderator's DID; the transparency report names no reporter."""
    ida, path = await stage.as_("ida"), f"/tracks/{track_id('mara', 1)}"
    for body, status in (
        (f"subject={TRACK}&action=takedown&reason=%3DCopied", 303),
        (f"subject={TRACK}&action=takedown&reason=Again", 409),
        ("subject=mara&action=takedown&reason=Why", 422),
        (f"subject={TRACK}&action=erase&reason=Why", 422),
        (f"subject={TRACK}&action=takedown&reason=", 422),
    ):
        assert await post(stage, "/admin/takedown", body, **ida) == status, body
    await until(lambda: stage.music.stores.takedowns.number == 1)
    assert (await stage.music.get(path)).status == 404
    assert await post(stage, "/admin/takedown", f"subject={TRACK}&action=restore&reason=Sorry", **ida) == 303
    await until(lambda: stage.music.stores.takedowns.number == 2)
    assert (await stage.music.get(path)).status == 200
    for body, status in (
        (f"subject={OTHER}&value=porn&reason=Seen&expires=2030-01-01T00:00:00Z", 303),
        (f"subject={OTHER}&value=gore&negated=on&reason=Not+so", 303),
        (f"subject={OTHER}&value=two+words&reason=Why", 422),
        (f"subject={OTHER}&value=porn&reason=Why&expires=soon", 422),
    ):
        assert await post(stage, "/admin/label", body, **ida) == status, body

    told = (await stage.music.get("/admin/transparency.json", **ida)).json
    table = list(csv.DictReader(io.StringIO((await stage.music.get("/admin/transparency.csv", **ida)).json)))
    page = (await stage.music.get("/admin/log", Accept="text/html", **ida)).json

    assert told["reports"]["received"] == 2
    kinds = [(one["kind"], one["action"], one["value"]) for one in told["decisions"]]
    assert kinds == [
        ("takedown", "takedown", ""),
        ("takedown", "restore", ""),
        ("label", "label", "porn"),
        ("label", "negate", "gore"),
    ]
    assert {one["decided_by"] for one in told["decisions"]} == {did("ida")}
    assert [row["reason"] for row in table] == ["'=Copied", "Sorry", "Seen", "Not so"]
    assert did("lost") not in str(told) + str(table)
    assert page.index("Not so") < page.index("Copied")
