"""The forms of a notice of infringement and of a counter-notice, and their translation. Pure."""

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from readapi.pages.public import metadata
from readapi.pages.public.report_form import read_subject
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from readapi.state.notices import NewNotice, Notice, Statement
from schemas import datetimes
from schemas.ids import Did
from schemas.notices import COUNTERED_FROM, MOST_NAME, MOST_TEXT

WORDS = {
    "received": "received",
    "acted_on": "acted on: it is taken down",
    "counter_noticed": "answered by a counter-notice",
    "restored": "restored",
    "rejected": "rejected",
}


class StatementForm(PageForm):
    """Who states what. `sworn`: the statements at the form's end; `signature`: the name once more."""

    name: str = ""
    contact: str = ""
    text: str = ""
    sworn: str = ""
    signature: str = ""

    def statement(self) -> Statement:
        """Raises InvalidRequest."""
        if not self.sworn:
            raise InvalidRequest.of_field("sworn", "must be confirmed")
        name = _required("name", self.name, MOST_NAME)
        if self.signature.strip() != name:
            raise InvalidRequest.of_field("signature", "must be the name above, typed once more")
        return Statement(
            name, _required("contact", self.contact, MOST_NAME), _required("text", self.text, MOST_TEXT)
        )


class NoticeForm(StatementForm):
    """A notice: the account or record that infringes, and the work that it infringes."""

    subject: str = ""

    def wanted(self, sent_by: str) -> NewNotice:
        """Raises InvalidRequest."""
        subject = read_subject(self.subject)
        did = Did(subject.removeprefix("at://").partition("/")[0])
        return NewNotice(subject, did, self.statement(), sent_by)


def view_of_form(subject: str, received: str | None, addresses: Addresses) -> View:
    """Template variables of the form. `received`: the number of the notice that was just sent."""
    return {
        "head": _head("Notice of infringement", addresses),
        "subject": subject,
        "received": received,
        "most": MOST_TEXT,
        "most_name": MOST_NAME,
    }


def view_of_notice(notice: Notice, *, may_answer: bool, addresses: Addresses) -> View:
    """Template variables of the page of a notice, for the account that it concerns, and moderators."""
    return {
        "head": _head(f"Notice {notice.number}", addresses),
        "number": notice.number,
        "subject": notice.subject,
        "state": WORDS[notice.state],
        "since": datetimes.render(notice.created_at),
        "claim": notice.claim,
        "counter": notice.counter,
        "may_answer": may_answer and notice.state == COUNTERED_FROM,
        "most": MOST_TEXT,
        "most_name": MOST_NAME,
    }


def _required(field: str, text: str, most: int) -> str:
    text = text.strip()
    if not 0 < len(text) <= most:
        raise InvalidRequest.of_field(field, f"must have 1 to {most:,} characters")
    return text


def _head(title: str, addresses: Addresses) -> metadata.Metadata:
    return metadata.of_page(title, f"{title}.", addresses.page("/notice"), indexed=False)
