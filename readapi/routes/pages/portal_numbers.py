"""The Portal's page of an artist's numbers, and the same as CSV: sums of public tracks, rows of all."""

from collections.abc import Sequence

from pydantic import TypeAdapter

from readapi.answers import Answer
from readapi.errors import Conflict, IndexNotReady, NotFound, NotOwner
from readapi.http.viewer import InSession
from readapi.index import cursors, present
from readapi.index.cursors import Cursor
from readapi.index.lookups import Index
from readapi.index.queries import library, series, tracks
from readapi.index.queries.identifiers import TrackName
from readapi.index.snapshots.interface import SeriesFiles
from readapi.pages import responses
from readapi.pages.page_routes import PageRoutes
from readapi.pages.portal import numbers
from readapi.pages.portal.weeks import last_weeks
from readapi.pages.render import Renderer
from schemas import datetimes
from schemas.api.tracks import Track
from schemas.series import subject_of
from schemas.stored import Card

routes = PageRoutes()

CSV = "text/csv; charset=utf-8"
MOST_ROWS = 50  # tracks on a page
MOST_IN_CSV = 1_000  # tracks, the newest
_ORDER = "numbers"
_TRACKS = TypeAdapter(list[Track])


@routes.page("/portal/numbers", raises=(NotFound, NotOwner, Conflict))
async def numbers_page(
    index: Index,
    files: SeriesFiles,
    who: InSession | None,
    renderer: Renderer,
    track: TrackName | None = None,
    cursor: Cursor = None,
) -> Answer[str]:
    """Show plays, likes and comments by the week: of one track, or of the artist, with the tracks' sums."""
    if who is None:
        return responses.sign_in("portal")
    one = None if track is None else tracks.find_own_track(index, track, who.viewer)
    cards, older = ([one], None) if one else _newest(index, who, cursor, MOST_ROWS)
    known = dict(zip([card.key for card in cards], _read(cards, who), strict=True))
    view: dict[str, object] = {
        "section": "numbers", "note": None, "track": known[one.key] if one else None, "older": older,
        "charts": [], "totals": [], "as_of": None,
    }  # fmt: skip
    try:
        span = last_weeks()
        weeks, as_of = await series.count_weeks(files, "track", list(known), span)
        shown = weeks if one else (await series.count_weeks(files, "artist", [subject_of(who.did)], span))[0]
    except IndexNotReady:  # nothing has been counted yet
        return responses.portal_page(renderer, "portal_numbers.html", view, who.name)
    charts, totals = numbers.draw_charts(span.begins, shown), numbers.add_up(known, weeks)
    view |= {"charts": charts, "totals": totals, "as_of": datetimes.render(as_of)}
    return responses.portal_page(renderer, "portal_numbers.html", view, who.name)


@routes.get(
    "/portal/numbers.csv",
    media_types=("text/csv",),
    raises=(NotFound, NotOwner, Conflict, IndexNotReady),
    described=False,
)
async def numbers_as_csv(
    index: Index, files: SeriesFiles, who: InSession, track: TrackName | None = None
) -> Answer[str]:
    """Download the numbers of one track, or of the artist's newest tracks, by the week."""
    one = None if track is None else tracks.find_own_track(index, track, who.viewer)
    cards = [one] if one else _newest(index, who, None, MOST_IN_CSV)[0]
    uris = {card.key: str(tracks.track_uri(card)) for card in cards}
    weeks, _ = await series.count_weeks(files, "track", list(uris), last_weeks())
    headers = {
        "Content-Disposition": 'attachment; filename="numbers.csv"',
        "Cache-Control": "no-store",
    }
    return Answer(numbers.write_csv(uris, weeks), CSV, headers=headers)


def _newest(index: Index, who: InSession, cursor: str | None, most: int) -> tuple[Sequence[Card], str | None]:
    """The account's own tracks of any visibility, and the query that leads to older ones."""
    after = cursors.read_position(cursor, _ORDER)
    page = library.own_tracks(index, who.viewer, "", "recent", after, most).page
    following = cursors.write_cursor(page.after, _ORDER)
    return page.items, None if following is None else f"/portal/numbers?cursor={following}"


def _read(cards: Sequence[Card], who: InSession) -> list[Track]:
    return _TRACKS.validate_json(present.join_parts(present.render_tracks(cards, who.viewer, ())))
