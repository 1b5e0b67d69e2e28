"""The pages for moderators: the accounts that FMSVC_ADMINS names. To everybody else there are none."""

from typing import Annotated

from pydantic import Field

from readapi.answers import JSON, Answer, render_json
from readapi.errors import Conflict, InvalidRequest, NotFound
from readapi.http.viewer import InSession
from readapi.index.snapshots.interface import Snapshots
from readapi.pages import moderation, responses
from readapi.pages.abuse_report import make_report
from readapi.pages.moderation import ClosingForm, LabelForm, NoticeDecisionForm, TakedownForm
from readapi.pages.page_routes import PageRoutes
from readapi.pages.render import Renderer
from readapi.state import notices
from readapi.state.deciding_notices import decide_notice
from readapi.state.state import State
from readapi.state.takedown_decisions import NotDecided
from schemas import datetimes
from schemas.ids import Did
from schemas.settings import Settings

MOST_REPORTS = 100  # on the page, the oldest ones
MOST_DECISIONS = 200  # on the page, the latest ones of each log
MOST_IN_REPORT = 50_000  # decisions of each log in a transparency report, the latest ones
CSV = "text/csv"
_DONE = {
    "down": "Taken down.",
    "up": "Restored.",
    "label": "The label is decided.",
    "closed": "Closed.",
    "notice": "Decided.",
}

routes = PageRoutes()

About = Annotated[str, Field(max_length=3000, description="Only reports whose subject has this in it.")]
Done = Annotated[str, Field(max_length=20, description="What was just done.")]


@routes.page("/admin", described=False, raises=(NotFound,))
async def desk(
    who: InSession | None,
    settings: Settings,
    state: State,
    renderer: Renderer,
    about: About = "",
    done: Done = "",
) -> Answer[str]:
    """Show the open reports and the forms of decisions."""
    moderator = _require_moderator(who, settings)
    reports = await state.reports.list_open(MOST_REPORTS, about)
    is_all = len(reports) < MOST_REPORTS
    claims = await state.notices.list_notices(MOST_REPORTS)
    view = moderation.view_of_desk(reports, claims, about, is_all, _DONE.get(done, ""), renderer.addresses)
    return responses.public_page(renderer, "admin.html", view, moderator)


@routes.page("/admin/log", described=False, raises=(NotFound,))
async def log_page(
    who: InSession | None, settings: Settings, state: State, renderer: Renderer
) -> Answer[str]:
    """Show the latest decisions."""
    moderator = _require_moderator(who, settings)
    rows = await _decisions(state, MOST_DECISIONS)
    rows.sort(key=lambda row: str(row["decided_at"]), reverse=True)
    view = moderation.view_of_log(rows, renderer.addresses)
    return responses.public_page(renderer, "admin_log.html", view, moderator)


@routes.page("/admin/abuse", described=False, raises=(NotFound,))
async def abuse_page(
    who: InSession | None, settings: Settings, state: State, catalog: Snapshots, renderer: Renderer
) -> Answer[str]:
    """Show who likes, comments or plays much, and tracks with suspicious likes."""
    moderator = _require_moderator(who, settings)
    report = await make_report(settings, state, catalog)
    view = moderation.view_of_abuse(report, renderer.addresses)
    return responses.public_page(renderer, "admin_abuse.html", view, moderator)


@routes.get("/admin/transparency.json", described=False, raises=(NotFound,))
async def transparency_json(who: InSession | None, settings: Settings, state: State) -> Answer[str]:
    """Every decision with its reason, and how many reports there were: nothing of who reported."""
    _require_moderator(who, settings)
    received, closed = await state.reports.count()
    told = {
        "made_at": datetimes.render(state.database.now()),
        "reports": {"received": received, "closed": closed},
        "notices": await state.notices.count(),
        "decisions": await _decisions(state, MOST_IN_REPORT),
    }
    return Answer(render_json(told), JSON)


@routes.get("/admin/transparency.csv", media_types=(CSV,), described=False, raises=(NotFound,))
async def transparency_csv(who: InSession | None, settings: Settings, state: State) -> Answer[str]:
    """The decisions as a table."""
    _require_moderator(who, settings)
    rows = await _decisions(state, MOST_IN_REPORT)
    return Answer(moderation.render_csv(rows), f"{CSV}; charset=utf-8")


@routes.deed("/admin/takedown", described=False, raises=(NotFound, InvalidRequest, Conflict))
async def decide_takedown(
    sent: TakedownForm, who: InSession | None, settings: Settings, state: State
) -> Answer[str]:
    """Take a subject down, or restore it."""
    subject, action, reason = sent.wanted()
    moderator = _require_moderator(who, settings)
    try:
        await state.takedown_decisions.decide(subject, action, reason, moderator.did)
    except NotDecided as error:
        raise Conflict(str(error)) from error
    return responses.redirect_away(f"/admin?done={'down' if action == 'takedown' else 'up'}")


@routes.deed("/admin/label", described=False, raises=(NotFound, InvalidRequest, Conflict))
async def decide_label(
    sent: LabelForm, who: InSession | None, settings: Settings, state: State
) -> Answer[str]:
    """Give a subject a label, or negate one."""
    moderator = _require_moderator(who, settings)
    try:
        await state.label_decisions.decide(sent.wanted(moderator.did))
    except NotDecided as error:
        raise Conflict(str(error)) from error
    return responses.redirect_away("/admin?done=label")


@routes.deed("/admin/reports/{number}/close", described=False, raises=(NotFound, InvalidRequest))
async def close_report(
    number: int, sent: ClosingForm, who: InSession | None, settings: Settings, state: State
) -> Answer[str]:
    """Close a report with a note."""
    moderator = _require_moderator(who, settings)
    if not await state.reports.close(number, sent.wanted(), moderator.did):
        raise NotFound("There is no open report of this number.")
    return responses.redirect_away("/admin?done=closed")


@routes.deed("/admin/notices/{number}/decide", described=False, raises=(NotFound, InvalidRequest, Conflict))
async def decide_about_notice(
    number: int, sent: NoticeDecisionForm, who: InSession | None, settings: Settings, state: State
) -> Answer[str]:
    """Act on a notice, reject it, or restore what was taken down for it."""
    moderator = _require_moderator(who, settings)
    decided, note = sent.wanted()
    try:
        await decide_notice(state, number, decided, note, moderator.did, settings.base_url)
    except (notices.NotDecided, NotDecided) as error:
        raise Conflict(str(error)) from error
    return responses.redirect_away("/admin?done=notice")


def _require_moderator(who: InSession | None, settings: Settings) -> InSession:
    """The account, if it is one of the moderators. Raises NotFound."""
    if who is None or Did(who.did) not in settings.admins:
        raise NotFound
    return who


async def _decisions(state: State, most: int) -> list[dict[str, object]]:
    """The latest decisions of all logs, each log's in its order."""
    takedowns = [moderation.takedown_row(one) for one in await state.takedown_decisions.latest(most)]
    labels = [moderation.label_row(one) for one in await state.label_decisions.latest(most)]
    claims = [moderation.notice_row(one) for one in await state.notices.latest_decisions(most)]
    return [*takedowns, *labels, *claims]
