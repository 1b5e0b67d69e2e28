"""Lists: albums and playlists. Each function makes one record of another; what it does not name stays."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Literal

from readapi import times
from readapi.errors import Conflict, NotFound
from readapi.pds import Value
from schemas.ids import Nsid


def new(collection: Nsid, kind: Literal["album", "playlist"], name: str, description: str | None) -> Value:
    """A list with nothing in it."""
    value = {"$type": collection, "listType": kind, "name": name, "items": []}
    value["createdAt"] = times.render(times.now())
    return value if not description else {**value, "description": description}


def renamed(found: Value, name: str | None, description: str | None) -> Value:
    """Under another name, with another description; None: as before, and an empty description is none."""
    named = found if name is None else {**found, "name": name}
    if description is not None:
        named = {**named, "description": description}
    return _edited({key: value for key, value in named.items() if key != "description" or value})


def pictured(found: Value, image: Value) -> Value:
    """With another cover."""
    return _edited({**found, "image": image})


def holds(found: Value, uri: str) -> bool:
    """Whether a record that any program may have written holds the track."""
    try:
        return any(item["subject"]["uri"] == uri for item in found["items"])
    except (LookupError, TypeError):
        return False


def with_track(found: Value, uri: str, cid: str) -> Value:
    """With a track at its end; one that it holds stays where it is, in the version that is given."""
    added = {"uri": uri, "cid": cid}
    if uri not in (item["subject"]["uri"] for item in found["items"]):
        return _edited({**found, "items": [*found["items"], {"subject": added}]})
    items = [{**item, "subject": added} if item["subject"]["uri"] == uri else item for item in found["items"]]
    return found if items == found["items"] else _edited({**found, "items": items})


def without_track(found: Value, uri: str) -> Value:
    """Without a track, wherever it stands. Raises NotFound when it does not."""
    left = [item for item in found["items"] if item["subject"]["uri"] != uri]
    if len(left) == len(found["items"]):
        raise NotFound("The list does not hold this track.")
    return _edited({**found, "items": left})


def reordered(found: Value, uris: Iterable[str]) -> Value:
    """With the same items in another order. Raises Conflict when they are not the same."""
    places: defaultdict[str, deque[Value]] = defaultdict(deque)
    for item in found["items"]:
        places[item["subject"]["uri"]].append(item)
    try:
        items = [places[uri].popleft() for uri in uris]
    except IndexError:
        items = []
    if len(items) != len(found["items"]):
        raise Conflict("The list holds other tracks than these; get it again before you reorder it.")
    return _edited({**found, "items": items})


def moved(found: Value, uri: str, before: str) -> Value:
    """With one item right before another. Raises Conflict when the two are not there."""
    items = list(found["items"])
    uris = [item["subject"]["uri"] for item in items]
    if uri == before or uri not in uris or before not in uris:
        raise Conflict("The list does not hold these tracks any more.")
    item = items.pop(uris.index(uri))
    uris.remove(uri)
    items.insert(uris.index(before), item)
    return _edited({**found, "items": items})


def _edited(value: Value) -> Value:
    return {**value, "updatedAt": times.render(times.now())}
