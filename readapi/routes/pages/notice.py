"""Notices of infringement and counter-notices, from forms."""

import re
from typing import Annotated
from urllib.parse import urlencode

from pydantic import Field

from readapi.answers import Answer
from readapi.errors import Conflict, InvalidRequest, NotAuthenticated, NotFound, RateLimited
from readapi.http.limits.clients import Client
from readapi.http.request.headers import Accept
from readapi.http.viewer import InSession
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors, form_errors
from readapi.pages.page_routes import PageRoutes
from readapi.pages.public import notice_form, reporters
from readapi.pages.public.notice_form import NoticeForm, StatementForm
from readapi.pages.render import Renderer
from readapi.state.notices import NewNotice, NotDecided, Notice, TooManyNotices
from readapi.state.state import State
from schemas.settings import Settings

routes = PageRoutes()

_NUMBER = re.compile(r"[0-9]{1,18}")

Subject = Annotated[str, Field(max_length=3000, description="A DID, or a record's at-uri.")]
Sent = Annotated[str, Field(description="The number of the notice that was just sent.")]
Number = Annotated[str, Field(max_length=3000, description="The number of a notice.")]


@routes.page("/notice")
async def notice_page(
    who: InSession | None, settings: Settings, renderer: Renderer, subject: Subject = "", sent: Sent = ""
) -> Answer[str]:
    """Show the form of a notice of infringement, or the number of the one that was sent."""
    if who is None and not settings.anonymous_reports:
        return responses.sign_in(f"/notice?{urlencode({'subject': subject})}")
    return _form(who, renderer, subject, sent if _NUMBER.fullmatch(sent) else None)


@routes.deed("/notice", raises=(InvalidRequest, NotAuthenticated, RateLimited))
async def send_notice(
    sent: NoticeForm,
    who: InSession | None,
    client: Client,
    accept: Accept,
    settings: Settings,
    state: State,
    renderer: Renderer,
) -> Answer[str]:
    """Send the operator a notice of infringement. A refused form is shown again, with the reason."""
    by = reporters.find_reporter(who, client, settings, state)
    try:
        notice = await _add(state, sent.wanted(by.name), by.most_open)
    except (InvalidRequest, RateLimited) as error:
        return _form(who, renderer, sent.subject, None, form_errors("notice", sent, error, accept))
    return responses.redirect_away(f"/notice?sent={notice.number}")


@routes.page("/notices/{number}", raises=(NotFound,))
async def show_notice(
    number: Number, who: InSession | None, settings: Settings, state: State, renderer: Renderer
) -> Answer[str]:
    """Show a notice to the account that it concerns, with the form of a counter-notice, and to moderators."""
    if who is None:
        return responses.sign_in(f"/notices/{number}")
    notice = await _require(number, who, settings, state)
    return _shown(notice, who, renderer)


@routes.deed("/notices/{number}/counter", raises=(InvalidRequest, NotFound, Conflict))
async def send_counter_notice(
    number: Number,
    sent: StatementForm,
    who: InSession,
    accept: Accept,
    settings: Settings,
    state: State,
    renderer: Renderer,
) -> Answer[str]:
    """Answer a notice that concerns your account. A refused form is shown again."""
    notice = await _require(number, who, settings, state)
    try:
        await state.notices.counter(notice.number, who.did, sent.statement())
    except NotDecided as error:
        raise Conflict(str(error)) from error
    except InvalidRequest as error:
        return _shown(notice, who, renderer, form_errors("counter", sent, error, accept))
    return responses.redirect_away(f"/notices/{number}")


async def _add(state: State, wanted: NewNotice, most_open: int) -> Notice:
    try:
        return await state.notices.add(wanted, most_open)
    except TooManyNotices as error:
        raise RateLimited(str(error)) from error


def _form(
    who: InSession | None,
    renderer: Renderer,
    subject: str,
    received: str | None,
    attempt: FormErrors = FRESH,
) -> Answer[str]:
    view = notice_form.view_of_form(subject, received, renderer.addresses)
    return responses.form_page(renderer, "notice.html", view, who, attempt)


def _shown(notice: Notice, who: InSession, renderer: Renderer, attempt: FormErrors = FRESH) -> Answer[str]:
    view = notice_form.view_of_notice(notice, may_answer=notice.did == who.did, addresses=renderer.addresses)
    return responses.form_page(renderer, "notice_answer.html", view, who, attempt)


async def _require(number: str, who: InSession, settings: Settings, state: State) -> Notice:
    """The notice, if it concerns the account or that is a moderator. Raises NotFound."""
    notice = await state.notices.find(int(number)) if _NUMBER.fullmatch(number) else None
    if notice is None or (notice.did != who.did and who.did not in settings.admins):
        raise NotFound
    return notice
