"""Loads the home page and the lists of all tracks: the most liked, the newest, those with a tag; and tags."""

from collections.abc import Sequence
from dataclasses import dataclass

from readapi.errors import IndexNotReady
from readapi.http.supporters import Supporters
from readapi.index.lookups import Index
from readapi.index.paging import Position
from readapi.index.queries import stats, tags, top, tracks
from readapi.index.queries.tags import UsedTag
from readapi.index.queries.top import Period
from readapi.index.snapshots.interface import Snapshots
from readapi.pages.public import content
from schemas import datetimes
from schemas.access import Viewer
from schemas.api.stats import Stats
from schemas.api.tracks import Track

MOST_TRACKS = 20  # on one page
MOST_TAGS = 200
_AT_HOME = 8
_TAGS_AT_HOME = 24


@dataclass(frozen=True, slots=True)
class Home:
    """The content of the home page. `totals` is None while there is no index."""

    liked: list[Track]
    newest: list[Track]
    tags: Sequence[UsedTag]
    totals: Stats | None


class Browsing:
    """Reads the lists for one viewer. `adult`: with what labels say is for adults."""

    def __init__(
        self,
        index: Index,
        catalog: Snapshots,
        supporters: Supporters,
        viewer: Viewer | None,
        *,
        adult: bool = False,
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._supporters = supporters
        self._viewer = viewer
        self._adult = adult

    async def home(self) -> Home:
        """The home page; without music where there is no index yet."""
        try:
            liked, _ = await self.top("week", 0, _AT_HOME)
            newest, _ = await self.newest(None, _AT_HOME)
            used, _ = await tags.count_tags(self._catalog, "", _TAGS_AT_HOME)
            return Home(liked, newest, used, await stats.count_totals(self._catalog))
        except IndexNotReady:
            return Home([], [], [], None)

    async def top(
        self, period: Period, passed: int = 0, limit: int = MOST_TRACKS
    ) -> tuple[list[Track], int | None]:
        """Places of the most liked tracks of a period that ends now, and how many the next page passes over.

        `passed`: places on the pages before. The order is of now on each page, so a track can move meanwhile.
        """
        ids, _ = await top.find_top_tracks(self._catalog, period, datetimes.this_minute(), adult=self._adult)
        following = passed + limit
        cards = top.first_visible(self._index, ids[passed:following], self._viewer, limit, adult=self._adult)
        found = await content.load_tracks(self._supporters, cards, self._viewer)
        return found, following if following < len(ids) else None

    async def newest(
        self, after: Position | None, limit: int = MOST_TRACKS, tag: str | None = None
    ) -> tuple[list[Track], Position | None]:
        """Public tracks, those with a tag if one is given, and the position at which the next page begins."""
        wanted = () if tag is None else (tag,)
        page = tracks.find_track_page(
            self._index, "recent", after, limit, None, wanted, self._viewer, adult=self._adult
        )
        return await content.load_tracks(self._supporters, page.items, self._viewer), page.after
