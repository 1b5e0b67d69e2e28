"""A report reaches the operator: from the form of a page, and by XRPC through the reporter's own server."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
import pytest_asyncio
from atproto import AsyncClient, models

from schemas.settings import Settings
from tests.indexer.changes import did, uri
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import track_id
from tests.readapi.studio import Studio

METHOD = "com.atproto.moderation.createReport"
TRACK = str(uri("mara", "track", 1))
RECORD = {"$type": "com.atproto.repo.strongRef", "uri": TRACK, "cid": "bafyreigd"}
ACCOUNT = {"$type": "com.atproto.admin.defs#repoRef", "did": did("mara")}
REASON = "com.atproto.moderation.defs#reasonSpam"
FORM = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "text/html"}


def command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `fmsvc-server reports …`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")}
    return subprocess.run(
        [sys.executable, "-m", "readapi", "reports", *arguments],
        env={**inherited, "FMSVC_DATA_DIR": str(settings.data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    async with listening(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
async def test_a_page_leads_to_the_form_and_the_form_to_the_operator(stage: Listening) -> None:
    """A stranger signs in first and comes back; the command lists the report on one line, and closes it."""
    ben = await stage.as_("ben")
    page = (await stage.music.get(f"/track/{track_id('mara', 1)}", Accept="text/html")).json
    link = page[page.index("/report?subject=") :].partition('"')[0]
    async with stage.music.client.get(stage.music.address + link, allow_redirects=False) as sent_away:
        to_sign_in = sent_away.headers["Location"]
    form = (await stage.music.get(link, Accept="text/html", **ben)).json
    body = f"subject={TRACK}&reason_type=reasonSpam&reason=Line+one%0d%0aline+%3Cb%3Etwo".encode()
    sent = await stage.music.send("POST", "/report", body, **FORM, **ben)
    listed = command(stage.music.settings).stdout.splitlines()
    as_json = [orjson.loads(line) for line in command(stage.music.settings, "--json").stdout.splitlines()]
    closed = command(stage.music.settings, "close", "1", "--note", "Taken down.")
    again = command(stage.music.settings, "close", "1", "--note", "Taken down.")

    assert to_sign_in.startswith("/login?to=/report")
    assert f"<code>{TRACK}</code>" in form
    assert "number 1" in sent.json
    assert len(listed) == 1
    assert listed[0].startswith("1 ")
    assert "<b>two" in listed[0]
    assert (as_json[0]["subject"], as_json[0]["reported_by"]) == (TRACK, did("ben"))
    assert closed.stdout == "Report 1 is closed.\n"
    assert (again.returncode, again.stderr) == (1, "fmsvc-server: There is no open report 1.\n")
    assert command(stage.music.settings).stdout == ""


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
async def test_a_refused_form_keeps_what_was_typed(stage: Listening) -> None:
    """The page says what is wrong beside its field, and shows the rest as it was sent."""
    ben = await stage.as_("ben")
    wordy = "It is <i>mine</i>. " + "x" * 2001
    body = urlencode({"subject": TRACK, "reason_type": "reasonSpam", "reason": wordy}).encode()
    too_long = await stage.music.send("POST", "/report", body, **FORM, **ben)
    typed = {"name": "Ada Owner", "contact": "ada@example.com", "text": "My <b>song</b>.", "sworn": "on"}
    body = urlencode({"subject": TRACK, **typed, "signature": "Ada"}).encode()
    unsigned = await stage.music.send("POST", "/notice", body, **FORM, **ben)
    as_json = await stage.music.send("POST", "/notice", body, **FORM | {"Accept": "application/json"}, **ben)

    assert (too_long.status, unsigned.status, as_json.status) == (422, 422, 422)
    assert "must have at most 2,000 characters" in too_long.json
    assert "It is &lt;i&gt;mine&lt;/i&gt;. x" in too_long.json
    assert '<option value="reasonSpam" selected>' in too_long.json
    assert 'id="signature-error">must be the name above, typed once more<' in unsigned.json
    for kept in (
        "ada@example.com",
        "My &lt;b&gt;song&lt;/b&gt;.",
        'name="sworn" value="on" required checked',
        TRACK,
    ):
        assert kept in unsigned.json, kept
    assert as_json.json["detail"] == "invalid_request"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "body",
    [
        "subject=mara.example&reason_type=reasonSpam",
        f"subject={TRACK}&reason_type=reasonNone",
        f"subject={TRACK}&reason_type=reasonSpam&reason={'x' * 2001}",
        "",
    ],
)
async def test_a_form_that_says_nothing_usable_is_refused(stage: Listening, body: str) -> None:
    ben = await stage.as_("ben")
    assert (await stage.music.send("POST", "/report", body.encode(), **FORM, **ben)).status == 422


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "sent",
    [
        {"reasonType": REASON, "subject": {"$type": "com.atproto.admin.defs#repoRef", "did": "mara"}},
        {"reasonType": REASON, "subject": {**RECORD, "cid": ""}},
        {"reasonType": REASON, "subject": {**RECORD, "$type": "app.other#ref"}},
        {"reasonType": "<script>", "subject": ACCOUNT},
        {"reasonType": REASON, "subject": ACCOUNT, "reason": "x" * 2001},
        {"subject": ACCOUNT},
        {"reasonType": REASON},
    ],
)
async def test_an_unusable_report_is_refused_as_xrpc_refuses(
    stage: Listening, sent: dict[str, object]
) -> None:
    """400 with `error` and `message`; nobody without an account reports anything."""
    ben = await stage.as_("ben")
    path, kind = f"/xrpc/{METHOD}", {"Content_Type": "application/json"}
    reply = await stage.music.send("POST", path, orjson.dumps(sent), **kind, **ben)
    nobody = await stage.music.send("POST", path, orjson.dumps(sent), **kind)

    assert (reply.status, reply.json["error"]) == (400, "InvalidRequest")
    assert (nobody.status, nobody.json["error"]) == (401, "AuthenticationRequired")


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_an_account_of_the_network_reports_with_a_token_of_its_server(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its server sends reports on. That server itself passes none to an address without a name, as here.

    The answers are those of the lexicon, by which the official client reads them. Each token serves once.
    """
    artist, reporter = await studio.artist(), await studio.artist()
    _, ref = await artist.write_track("Copied")
    service = (await artist.ask("GET", "/.well-known/did.json")).json["id"]
    monkeypatch.delenv("SSL_CERT_FILE")  # the client reads whom to trust, and asks nobody of them
    record = models.ComAtprotoRepoStrongRef.Main(uri=ref.uri, cid=ref.cid)
    account = models.ComAtprotoAdminDefs.RepoRef(did=artist.account.did)

    async def send(sent: dict[str, Any]) -> models.ComAtprotoModerationCreateReport.Response:
        named = {"aud": service, "lxm": METHOD}
        answer = await reporter.account.pds.get(
            "com.atproto.server.getServiceAuth", reporter.account.login, **named
        )
        client = AsyncClient(f"{studio.door.address}/xrpc")
        try:
            headers = {"Authorization": f"Bearer {answer['token']}"}
            return await client.com.atproto.moderation.create_report(
                models.ComAtprotoModerationCreateReport.Data(**sent), headers=headers
            )
        finally:
            await client.request.close()

    of_record = await send({"reason_type": REASON, "reason": "A copy.", "subject": record})
    of_account = await send({"reason_type": REASON, "subject": account})

    assert (of_record.subject, of_account.subject) == (record, account)
    assert (of_record.reason, of_record.reported_by) == ("A copy.", reporter.account.did)
    assert of_account.id == of_record.id + 1
