"""Pages for moderators: what they decide is logged with their name, and nobody else has the pages."""

import csv
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from urllib.parse import urlencode

import orjson
import pytest
import pytest_asyncio
from sqlalchemy.exc import DBAPIError

from readapi.pages.abuse_report import make_report
from readapi.state.activity import Activity
from readapi.state.db.tables import notice_decisions
from readapi.state.reports import NewReport
from tests.indexer.changes import did, like, uri
from tests.indexer.running import until
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACK, OTHER = str(uri("mara", "track", 1)), str(uri("mara", "track", 2))
FORM = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
PAGES = ("/admin", "/admin/abuse", "/admin/log", "/admin/transparency.json", "/admin/transparency.csv")
SPAM = "com.atproto.moderation.defs#reasonSpam"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker whose moderator is Ida; two things are reported."""
    async with listening(
        tmp_path_factory.mktemp("stage"), admins=(did("ida"),), anonymous_reports=2
    ) as stage:
        for subject, why in ((TRACK, "It is <b>copied</b>."), (did("ben"), "He sells watches.")):
            await stage.state.reports.add(NewReport(subject, None, SPAM, why, did("lost")))
        yield stage


NOTICE = {
    "text": "My song, recorded in 1999.",
    "name": "Ada Owner",
    "contact": "ada@example.com",
    "sworn": "on",
    "signature": "Ada Owner",
}


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
            ("/admin/notices/1/decide", "state=acted_on&note=x"),
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


@pytest.mark.slow
async def test_a_notice_goes_from_state_to_state(stage: Listening) -> None:
    """Sent without an account; acted on, answered by the account, restored; each decision logged and told."""
    song, takedowns = str(uri("mara", "track", 5)), stage.music.stores.takedowns
    ida, mara, ben = [await stage.as_(person) for person in ("ida", "mara", "ben")]
    for wrong in ({"sworn": ""}, {"signature": "Ada"}, {"name": " "}, {"subject": "mara.example"}):
        assert await post(stage, "/notice", urlencode({"subject": song, **NOTICE, **wrong})) == 422
    for status in (303, 303, 429):  # two of a network may be open
        assert await post(stage, "/notice", urlencode({"subject": song, **NOTICE})) == status
    desk = (await stage.music.get("/admin", Accept="text/html", **ida)).json
    assert "My song, recorded in 1999." in desk
    for login, status in (({}, 303), (ben, 404), (mara, 200), (ida, 200)):
        assert await seen(stage, "/notices/1", **login) == status
    answer = urlencode({**NOTICE, "text": "I recorded it."})
    assert await post(stage, "/notices/1/counter", answer, **mara) == 409  # nothing was done yet

    decide = "/admin/notices/1/decide"
    for state, status in (("restored", 409), ("erased", 422), ("acted_on", 303), ("acted_on", 409)):
        assert await post(stage, decide, urlencode({"state": state, "note": "Shown."}), **ida) == status
    await until(lambda: takedowns.now.covers_any((song,)))
    why = (await stage.music.get(f"/tracks/{track_id('mara', 5)}", **mara)).json["message"]
    assert "/notices/1" in why
    assert "Ada Owner" in (await stage.music.get("/notices/1", Accept="text/html", **mara)).json
    for login, status in ((ben, 404), (ida, 409), (mara, 303), (mara, 409)):
        assert await post(stage, "/notices/1/counter", answer, **login) == status
    assert "I recorded it." in (await stage.music.get("/admin", Accept="text/html", **ida)).json
    assert await post(stage, decide, urlencode({"state": "restored", "note": "So it is."}), **ida) == 303
    await until(lambda: not takedowns.now.covers_any((song,)))
    assert (await stage.music.get(f"/tracks/{track_id('mara', 5)}")).status == 200

    rejected = command(stage, "decide", "2", "rejected", "--note", "The same again.")
    assert rejected.stdout == "Notice 2 is rejected.\n"
    assert await post(stage, "/admin/notices/2/decide", "state=acted_on&note=x", **ida) == 409
    states = [orjson.loads(line)["state"] for line in command(stage, "--all").stdout.splitlines()]
    assert states == ["restored", "rejected"]
    told = (await stage.music.get("/admin/transparency.json", **ida)).json
    assert told["notices"] == {"restored": 1, "rejected": 1}
    decided = [(one["value"], one["action"]) for one in told["decisions"] if one["kind"] == "notice"]
    assert decided == [("1", "acted_on"), ("1", "restored"), ("2", "rejected")]
    assert "Owner" not in str(told)
    with pytest.raises(DBAPIError):
        async with stage.state.database.writing() as connection:
            await connection.execute(notice_decisions.delete())


async def test_people_without_an_account_report_where_that_is_allowed(stage: Listening) -> None:
    """As many as may be open of a network; nothing tells its address."""
    body = urlencode({"subject": OTHER, "reason_type": "reasonSpam", "reason": "Nobody asked."})
    assert (
        "with your handle" not in (await stage.music.get(f"/report?subject={OTHER}", Accept="text/html")).json
    )
    for reason, status in (("reasonSpam", 303), ("reasonRude", 303), ("reasonSexual", 429)):
        assert await post(stage, "/report", body.replace("reasonSpam", reason)) == status
    [first, _] = [
        one for one in await stage.state.reports.list_open(100) if one.reported_by.startswith("network:")
    ]
    assert (first.subject, first.reason) == (OTHER, "Nobody asked.")
    assert "127.0.0" not in first.reported_by


async def seen(stage: Listening, path: str, **login: str) -> int:
    """The status of a page, not followed."""
    asked = stage.music.client.get(
        stage.music.address + path, headers={"Accept": "text/html", **login}, allow_redirects=False
    )
    async with asked as answer:
        return answer.status


def command(stage: Listening, *arguments: str, name: str = "notices") -> subprocess.CompletedProcess[str]:
    """Run a command of `fmsvc-server`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    return subprocess.run(
        [sys.executable, "-m", "readapi", name, *arguments],
        env={**inherited, "FMSVC_DATA_DIR": str(stage.music.settings.data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
async def test_bursts_and_fresh_accounts_are_told(stage: Listening) -> None:
    """By the snapshot's likes, and by what was done here; the page and the command tell the same."""
    ida, song = await stage.as_("ida"), uri("mara", "track", 6)
    people = [f"fan{number}" for number in range(25)]
    await stage.music.add(*(like(one, song, 600 + n, at=600 + n) for n, one in enumerate(people)))
    busy = [like("busy", uri("mara", "track", 7), 700 + n, at=700 + n) for n in range(70)]
    await stage.music.add(*busy)
    path = f"/tracks/{track_id('mara', 6)}/play"
    for _ in range(61):
        assert (await stage.music.send("POST", path)).status == 200
    await stage.music.send("POST", path, **ida)

    activity, settings = Activity(stage.state.database, stage.state.name_network), stage.music.settings
    for _ in range(60):
        activity.note("like", did("ida"), "192.0.2.0/24")
    await activity.flush()
    await activity.flush()
    assert [(one.who, one.times) for one in await activity.busiest(60, 10)] == sorted(
        [(did("ida"), 60), (stage.state.name_network("192.0.2.0/24"), 60)]
    )
    assert await activity.busiest(61, 10) == []
    report = await make_report(settings, stage.state, stage.music.stores.catalog)
    assert [(one["uri"], one["likes"], one["fresh"]) for one in report["tracks"]] == [(str(song), 25, 25)]
    assert [(one["did"], one["kind"]) for one in report["accounts"]] == [(did("busy"), "like")]
    assert "192.0.2" not in str(report)
    page = (await stage.music.get("/admin/abuse", Accept="text/html", **ida)).json
    assert f"<code>{song}</code></a>: 25 likes within a day, 25 of fresh accounts" in page
    printed = orjson.loads(command(stage, name="abuse").stdout)
    assert (printed["tracks"], printed["accounts"]) == (report["tracks"], report["accounts"])
