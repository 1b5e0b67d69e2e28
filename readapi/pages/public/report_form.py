"""The form of a report, and its translation into one. Pure."""

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from readapi.pages.public import metadata
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from readapi.state.reports import NewReport
from schemas.ids import AtUri, is_did
from schemas.reports import MOST_TEXT, REASON_PREFIX, REASONS


class ReportForm(PageForm):
    """What is reported, by its at-uri or DID; why, as one of the known reasons; and in words."""

    subject: str = ""
    reason_type: str = ""
    reason: str = ""

    def wanted(self, reporter: str) -> NewReport:
        """Raises InvalidRequest."""
        if self.reason_type not in REASONS:
            raise InvalidRequest.of_field("reason_type", "must be one of the reasons of the form")
        return NewReport(
            read_subject(self.subject),
            None,
            REASON_PREFIX + self.reason_type,
            check_reason(self.reason),
            reporter,
        )


def read_subject(text: str) -> str:
    """The account or record that is reported. Raises InvalidRequest."""
    if is_did(text):
        return text
    try:
        return str(AtUri.parse(text))
    except ValueError:
        raise InvalidRequest.of_field("subject", "must be a DID, or a record's at-uri by DID") from None


def check_reason(text: str) -> str:
    """The reporter's words. Raises InvalidRequest when they are too long."""
    if len(text) > MOST_TEXT:
        raise InvalidRequest.of_field("reason", f"must have at most {MOST_TEXT:,} characters")
    return text.strip()


def view_of(subject: str, received: str | None, addresses: Addresses, *, by_account: bool) -> View:
    """Template variables. `received`: the number of the report that was just sent."""
    head = metadata.of_page("Report", "Report to the operator.", addresses.page("/report"), indexed=False)
    return {
        "head": head,
        "subject": subject,
        "reasons": REASONS,
        "received": received,
        "most": MOST_TEXT,
        "by_account": by_account,
    }
