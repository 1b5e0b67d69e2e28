"""Reports to the operator by XRPC, as clients of the network send them."""

from typing import Any, Literal

from pydantic import Field

from readapi.answers import Answer, render_json
from readapi.errors import InvalidRequest, RateLimited
from readapi.http.endpoint import Routes
from readapi.http.response.xrpc import PREFIX
from readapi.http.viewer import SignedIn
from readapi.pages.public import report_form
from readapi.state.reports import NewReport, TooManyReports
from readapi.state.state import State
from schemas import datetimes
from schemas.api.shape import Asked
from schemas.ids import is_cid_text

routes = Routes("moderation")

METHOD = "com.atproto.moderation.createReport"
_REPO, _RECORD = "com.atproto.admin.defs#repoRef", "com.atproto.repo.strongRef"


class Subject(Asked):
    """An account, or a version of a record."""

    kind: Literal["com.atproto.admin.defs#repoRef", "com.atproto.repo.strongRef"] = Field(alias="$type")
    did: str = ""
    uri: str = ""
    cid: str = ""


class SentReport(Asked):
    """The input of com.atproto.moderation.createReport."""

    reason_type: str = Field(alias="reasonType", min_length=1, max_length=300, pattern=r"^[a-zA-Z0-9.#-]+$")
    reason: str = ""
    subject: Subject


@routes.post(f"{PREFIX}{METHOD}", described=False, raises=(InvalidRequest, RateLimited))
async def create_report(sent: SentReport, who: SignedIn, state: State) -> Answer[dict[str, Any]]:
    """Report an account or a record to the operator of this service.

    https://github.com/bluesky-social/atproto/blob/main/lexicons/com/atproto/moderation/createReport.json
    """
    subject = sent.subject
    new = NewReport(
        report_form.read_subject(subject.did if subject.kind == _REPO else subject.uri),
        _read_cid(subject),
        sent.reason_type,
        report_form.check_reason(sent.reason),
        who.did,
    )
    try:
        report = await state.reports.add(new)
    except TooManyReports as error:
        raise RateLimited(str(error)) from error
    named = {"did": report.subject} if subject.kind == _REPO else {"uri": report.subject, "cid": subject.cid}
    answer = {
        "id": report.number,
        "reasonType": report.reason_type,
        "reason": report.reason,
        "subject": {"$type": subject.kind, **named},
        "reportedBy": report.reported_by,
        "createdAt": datetimes.render(report.created_at),
    }
    return Answer(render_json(answer))


def _read_cid(subject: Subject) -> str | None:
    if subject.kind == _REPO:
        return None
    if not is_cid_text(subject.cid):
        raise InvalidRequest.of_field("subject.cid", "must be the CID of the record")
    return subject.cid
