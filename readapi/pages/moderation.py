"""The pages for moderators: forms, their translation into decisions, and template variables. Pure."""

import csv
import io
from collections.abc import Mapping, Sequence

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from readapi.pages.public import metadata
from readapi.pages.public.notice_form import WORDS
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from readapi.state.label_decisions import LabelDecision, NewLabel
from readapi.state.notices import Notice, NoticeDecision
from readapi.state.reports import Report
from readapi.state.takedown_decisions import Decision
from schemas import datetimes, labels, notices, takedowns
from schemas.ids import Did
from schemas.reports import MOST_TEXT, REASON_PREFIX
from schemas.takedowns import MOST_REASON, Action

COLUMNS = ("kind", "number", "subject", "action", "value", "expires_at", "reason", "decided_by", "decided_at")


class TakedownForm(PageForm):
    """A subject as `schemas.takedowns` names them, what is decided, and why."""

    subject: str = ""
    action: str = "takedown"
    reason: str = ""

    def wanted(self) -> tuple[str, Action, str]:
        """Raises InvalidRequest."""
        if self.action not in ("takedown", "restore"):
            raise InvalidRequest.of_field("action", "must be takedown or restore")
        try:
            subject = takedowns.read_subject(self.subject)
        except ValueError as error:
            raise InvalidRequest.of_field("subject", str(error)) from None
        return subject, "restore" if self.action == "restore" else "takedown", _reason(self.reason)


class LabelForm(PageForm):
    """A label of the operator, or its negation."""

    subject: str = ""
    value: str = ""
    negated: str = ""
    expires: str = ""
    reason: str = ""

    def wanted(self, moderator: Did) -> NewLabel:
        """Raises InvalidRequest."""
        try:
            until = datetimes.parse_datetime(self.expires) if self.expires.strip() else None
            subject, value = labels.read_subject(self.subject), labels.check_value(self.value.strip())
        except ValueError as error:
            raise InvalidRequest.of_field("value", str(error)) from None
        return NewLabel(subject, value, bool(self.negated), until, _reason(self.reason), moderator)


class NoticeDecisionForm(PageForm):
    """What is decided about a notice, and why."""

    state: str = ""
    note: str = ""

    def wanted(self) -> tuple[notices.State, str]:
        """Raises InvalidRequest."""
        for state in notices.STATES:
            if state == self.state:
                return state, _reason(self.note)
        raise InvalidRequest.of_field("state", "must be one of those offered")


class ClosingForm(PageForm):
    """What was decided about a report."""

    note: str = ""

    def wanted(self) -> str:
        """Raises InvalidRequest."""
        note = self.note.strip()
        if not 0 < len(note) <= MOST_TEXT:
            raise InvalidRequest.of_field("note", f"must have 1 to {MOST_TEXT:,} characters")
        return note


def view_of_desk(
    reports: Sequence[Report],
    claims: Sequence[Notice],
    about: str,
    is_all: bool,
    done: str,
    addresses: Addresses,
) -> View:
    """Template variables of the page with the open reports and the forms. `done`: what was just decided."""
    return {
        "head": _head("Moderation", addresses),
        "reports": [
            {
                "number": report.number,
                "subject": report.subject,
                "why": report.reason_type.removeprefix(REASON_PREFIX),
                "reason": report.reason,
                "by": report.reported_by,
                "since": datetimes.render(report.created_at),
            }
            for report in reports
        ],
        "notices": [
            {
                "number": notice.number,
                "subject": notice.subject,
                "state": WORDS[notice.state],
                "claim": notice.claim,
                "counter": notice.counter,
                "since": datetimes.render(notice.created_at),
                "choices": {state: WORDS[state] for state in notices.DECISIONS[notice.state]},
            }
            for notice in claims
        ],
        "about": about,
        "is_all": is_all,
        "done": done,
    }


def view_of_log(decisions: Sequence[Mapping[str, object]], addresses: Addresses) -> View:
    """Template variables of the page of the latest decisions."""
    return {"head": _head("Decisions", addresses), "decisions": decisions}


def view_of_abuse(report: Mapping[str, object], addresses: Addresses) -> View:
    """Template variables of the page of suspicious activity."""
    return {"head": _head("Suspicious activity", addresses), "report": report}


def takedown_row(decision: Decision) -> dict[str, object]:
    """A decision of the log of takedowns, in the columns of the transparency report."""
    return _row("takedown", decision, decision.action, "", None)


def label_row(decision: LabelDecision) -> dict[str, object]:
    """The same of the log of labels."""
    action = "negate" if decision.negated else "label"
    expires = None if decision.expires_at is None else datetimes.render(decision.expires_at)
    return _row("label", decision, action, decision.value, expires)


def notice_row(decision: NoticeDecision) -> dict[str, object]:
    """The same of the log of notices, without who sent the notice. `value`: the notice's number."""
    return {
        "kind": "notice",
        "number": decision.number,
        "subject": decision.subject,
        "action": decision.state,
        "value": str(decision.notice),
        "expires_at": None,
        "reason": decision.note,
        "decided_by": decision.decided_by,
        "decided_at": datetimes.render(decision.decided_at),
    }


def render_csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    """The rows as CSV (RFC 4180). Cells that a spreadsheet would run as a formula begin with a quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row[name]) for name in COLUMNS] for row in rows)
    return text.getvalue().encode()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _row(
    kind: str, decision: Decision | LabelDecision, action: str, value: str, expires: str | None
) -> dict[str, object]:
    return {
        "kind": kind,
        "number": decision.number,
        "subject": decision.subject,
        "action": action,
        "value": value,
        "expires_at": expires,
        "reason": decision.reason,
        "decided_by": decision.decided_by,
        "decided_at": datetimes.render(decision.decided_at),
    }


def _reason(text: str) -> str:
    reason = text.strip()
    if not 0 < len(reason) <= MOST_REASON:
        raise InvalidRequest.of_field("reason", f"must have 1 to {MOST_REASON:,} characters")
    return reason


def _head(title: str, addresses: Addresses) -> metadata.Metadata:
    return metadata.of_page(title, "For moderators.", addresses.page("/admin"), indexed=False)
