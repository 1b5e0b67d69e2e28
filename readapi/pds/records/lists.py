"""Edits of list records (albums and playlists): record in, changed copy out; other fields stay."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from readapi.errors import Conflict, NotFound
from readapi.pds.repo import Value
from schemas import datetimes
from schemas.ids import Nsid

CHANGED = "The list has different tracks; get it again before you change it."


def new_list(
    collection: Nsid, kind: Literal["album", "playlist"], name: str, description: str | None
) -> Value:
    """An empty list."""
    value = {"$type": collection, "listType": kind, "name": name, "items": []}
    value["createdAt"] = datetimes.render(datetimes.now())
    return value if not description else {**value, "description": description}


def rename_list(found: Value, name: str | None, description: str | None) -> Value:
    """Set name and description; None leaves one as it is, an empty description removes it."""
    named = found if name is None else {**found, "name": name}
    if description is not None:
        named = {**named, "description": description}
    return _mark_edited({key: value for key, value in named.items() if key != "description" or value})


def set_image(found: Value, image: Value) -> Value:
    """Set the cover."""
    return _mark_edited({**found, "image": image})


def holds_track(found: Value, uri: str) -> bool:
    """Whether a list holds a track. Other programs may have written the record, in any shape."""
    try:
        return any(item["subject"]["uri"] == uri for item in found["items"])
    except (LookupError, TypeError):
        return False


def add_track(found: Value, uri: str, cid: str) -> Value:
    """Append a track; one that is in the list already keeps its place and gets the given `cid`."""
    added = {"uri": uri, "cid": cid}
    if uri not in (item["subject"]["uri"] for item in found["items"]):
        return _mark_edited({**found, "items": [*found["items"], {"subject": added}]})
    items = [{**item, "subject": added} if item["subject"]["uri"] == uri else item for item in found["items"]]
    return found if items == found["items"] else _mark_edited({**found, "items": items})


def make_items(subjects: Iterable[Value]) -> list[Value]:
    """The items of a list, from strong references to its tracks."""
    return [{"subject": subject} for subject in subjects]


def replace_items(found: Value, subjects: Iterable[Value]) -> Value:
    """Put these tracks in the place of all items."""
    return _mark_edited({**found, "items": make_items(subjects)})


def remove_places(found: Value, shown: Sequence[str], places: Collection[int]) -> Value:
    """Remove the items at places among those that are `shown`: at-uris, in the list's order.

    Items of tracks that are not shown stay. Raises Conflict when others are shown than the list has.
    """
    left: list[Value] = []
    place = 0
    for item in found["items"]:
        is_shown = place < len(shown) and item["subject"]["uri"] == shown[place]
        if not (is_shown and place in places):
            left.append(item)
        place += is_shown
    if place < len(shown) or any(place not in range(len(shown)) for place in places):
        raise Conflict(CHANGED)
    return _mark_edited({**found, "items": left})


def add_upload(found: Value, uri: str, cid: str) -> Value:
    """Append an uploaded track, but before tracks at the end that were uploaded after it.

    Uploads may end in another order than they began, which is that of their rkeys.
    """
    added = add_track(found, uri, cid)
    items, home = list(added["items"]), uri.rpartition("/")[0]
    if len(items) == len(found["items"]):
        return added
    last = items.pop()
    place = len(items)
    while place > 0 and _is_later(items[place - 1], uri, home):
        place -= 1
    return {**added, "items": [*items[:place], last, *items[place:]]}


def _is_later(item: Value, uri: str, home: str) -> bool:
    other = str(item["subject"]["uri"])
    return other.rpartition("/")[0] == home and other > uri


def remove_track(found: Value, uri: str) -> Value:
    """Remove a track. Raises NotFound when it is not in the list."""
    left = [item for item in found["items"] if item["subject"]["uri"] != uri]
    if len(left) == len(found["items"]):
        raise NotFound("This track is not in the list.")
    return _mark_edited({**found, "items": left})


def reorder_items(found: Value, uris: Iterable[str]) -> Value:
    """Put the items into another order. Raises Conflict when they are not the same items."""
    places: defaultdict[str, deque[Value]] = defaultdict(deque)
    for item in found["items"]:
        places[item["subject"]["uri"]].append(item)
    try:
        items = [places[uri].popleft() for uri in uris]
    except IndexError:
        items = []
    if len(items) != len(found["items"]):
        raise Conflict(CHANGED)
    return _mark_edited({**found, "items": items})


def move_item(found: Value, uri: str, before: str) -> Value:
    """Move one item to right before another; to the end if `before` is empty.

    Raises Conflict when one of them is missing.
    """
    items = list(found["items"])
    uris = [item["subject"]["uri"] for item in items]
    if uri == before or uri not in uris or (before and before not in uris):
        raise Conflict("These tracks are no longer in the list.")
    item = items.pop(uris.index(uri))
    uris.remove(uri)
    items.insert(uris.index(before) if before else len(items), item)
    return _mark_edited({**found, "items": items})


def _mark_edited(value: Value) -> Value:
    return {**value, "updatedAt": datetimes.render(datetimes.now())}
