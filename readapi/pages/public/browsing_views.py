"""Template variables of the home page and of the lists of all tracks and tags."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from readapi.index.queries.tags import UsedTag
from readapi.index.queries.top import Period
from readapi.pages import text
from readapi.pages.public import metadata
from readapi.pages.public.browsing import Home
from readapi.pages.public.metadata import SITE_NAME, Metadata
from readapi.pages.public.player import make_player_track
from readapi.pages.public.views import View, first_playable, onward
from readapi.pages.urls import Addresses, tag_feed
from schemas.api.tags import TagHead
from schemas.api.tracks import Track

_PERIODS: Mapping[Period, str] = {
    "day": "Last day",
    "week": "Last week",
    "month": "Last month",
    "all_time": "All time",
}


def of_home(found: Home, addresses: Addresses) -> View:
    """For the home page."""
    description = "Search, hear and share every audio record on the AT Protocol network."
    liked = [make_player_track(track, addresses) for track in found.liked]
    newest = [make_player_track(track, addresses) for track in found.newest]
    return {
        "head": metadata.of_home("Music on the AT Protocol network", description, addresses),
        "liked": liked,
        "newest": newest,
        "first": first_playable([*liked, *newest]),
        "used_tags": found.tags,
        "totals": found.totals,
        "hours": None if found.totals is None else found.totals.total_duration_seconds // 3600,
    }


def of_top(
    found: Sequence[Track], period: Period, after: str | None, cursor: str | None, addresses: Addresses
) -> View:
    """For a page of the most liked tracks of a period; `after` leads to the next. `cursor`: of this page."""
    chosen = None if period == "week" else period
    address = addresses.page("/top", period=chosen, cursor=cursor)
    words = _PERIODS[period].lower()
    head = metadata.of_page(
        f"Most liked, {words}", f"The most liked tracks of the {SITE_NAME} index.", address
    )
    choices = [(name, f"/top?period={value}", value == period) for value, name in _PERIODS.items()]
    empty = "No track was liked in this time."
    following = after and f"/top?{urlencode({'period': period, 'cursor': after})}"
    pages = {"older": following, "onward": "More tracks"}
    return {**_tracks(head, "Most liked", found, addresses), **pages, "choices": choices, "empty": empty}


def of_new(found: Sequence[Track], after: str | None, cursor: str | None, addresses: Addresses) -> View:
    """For a page of the newest tracks; `after` leads to older ones. `cursor`: of this page."""
    head = metadata.of_page(
        "Newest tracks",
        f"The newest tracks of the {SITE_NAME} index.",
        addresses.page("/new", cursor=cursor),
        feed=addresses.page("/feeds/new"),
    )
    return _tracks(head, "Newest", found, addresses, after)


def of_tag(
    tag: TagHead, found: Sequence[Track], after: str | None, cursor: str | None, addresses: Addresses
) -> View:
    """For a page of the tracks with a tag; `after` leads to older ones. `cursor`: of this page."""
    count = text.format_count(tag.track_count, "track")
    address = addresses.tag(tag.name) + (onward(cursor) or "")
    feed = addresses.page(tag_feed(tag.name))
    head = metadata.of_page(f"Tag: {tag.name}", f"{count} with the tag {tag.name}.", address, feed=feed)
    return {**_tracks(head, tag.name, found, addresses, after), "kicker": "Tag", "count": count}


def of_tags(found: Sequence[UsedTag], beginning: str, addresses: Addresses) -> View:
    """For the most used tags that begin with a text."""
    address = addresses.page("/tags", beginning=beginning or None)
    head = metadata.of_page("Tags", f"The most used tags of the {SITE_NAME} index.", address)
    return {"head": head, "used_tags": found, "beginning": beginning}


def _tracks(
    head: Metadata, title: str, found: Sequence[Track], addresses: Addresses, after: str | None = None
) -> View:
    sounds = [make_player_track(track, addresses) for track in found]
    return {
        "head": head,
        "title": title,
        "sounds": sounds,
        "first": first_playable(sounds),
        "older": onward(after),
    }
