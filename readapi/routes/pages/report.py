"""Reports to the operator, from a form."""

import re
from typing import Annotated
from urllib.parse import urlencode

from pydantic import Field

from readapi.answers import Answer
from readapi.errors import InvalidRequest, NotAuthenticated, RateLimited
from readapi.http.limits.clients import Client
from readapi.http.request.headers import Accept
from readapi.http.viewer import InSession
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors, form_errors
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public import report_form, reporters
from readapi.pages.public.report_form import ReportForm
from readapi.pages.render import Renderer
from readapi.state.reports import NewReport, Report, TooManyReports
from readapi.state.state import State
from schemas.settings import Settings

Number = Annotated[str, Field(description="The number of the report that was just sent.")]

routes = PageRoutes()

_NUMBER = re.compile(r"[0-9]{1,18}")

Subject = Annotated[str, Field(max_length=3000, description="A DID, or a record's at-uri.")]


@routes.page("/report")
async def report_page(
    who: InSession | None, settings: Settings, renderer: Renderer, subject: Subject = "", sent: Number = ""
) -> Answer[str]:
    """Show the form of a report, or the number of the one that was sent."""
    if who is None and not settings.anonymous_reports:
        return responses.sign_in(f"/report?{urlencode({'subject': subject})}")
    received = sent if _NUMBER.fullmatch(sent) else None
    return _page(who, renderer, subject, received)


@routes.deed("/report", raises=(InvalidRequest, NotAuthenticated, RateLimited))
async def send_report(
    sent: ReportForm,
    who: InSession | None,
    client: Client,
    accept: Accept,
    settings: Settings,
    state: State,
    renderer: Renderer,
) -> Answer[str]:
    """Report an account or a record to the operator. A refused form is shown again, with the reason."""
    by = reporters.find_reporter(who, client, settings, state)
    try:
        report = await _add(state, sent.wanted(by.name), by.most_open)
    except (InvalidRequest, RateLimited) as error:
        return _page(who, renderer, sent.subject, None, form_errors("report", sent, error, accept))
    return responses.redirect_away(f"/report?sent={report.number}")


async def _add(state: State, wanted: NewReport, most_open: int) -> Report:
    try:
        return await state.reports.add(wanted, most_open)
    except TooManyReports as error:
        raise RateLimited(str(error)) from error


def _page(
    who: InSession | None,
    renderer: Renderer,
    subject: str,
    received: str | None,
    attempt: FormErrors = FRESH,
) -> Answer[str]:
    view = report_form.view_of(subject, received, renderer.addresses, by_account=who is not None)
    return responses.form_page(renderer, "report.html", view, who, attempt)
