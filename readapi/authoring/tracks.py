"""Tracks: what their artists say of them. Audio and access are not changed here."""

from collections.abc import Iterable, Mapping, Sequence

from readapi.authoring import pictures
from readapi.errors import InvalidRequest
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.pds import Author, Pds, Value
from readapi.search import Index
from readapi.writing import Change
from schemas.api.tracks import TrackChange
from schemas.ids import Did, Handle, is_did, is_handle


async def change(wanted: TrackChange, pds: Pds, author: Author, index: Index, network: Network) -> Change:
    """The edit that brings the wanted changes about. Raises InvalidRequest, and what `Pds` raises."""
    names = wanted.features
    featured = None if names is None else await dids(index, network, names)
    image = None if wanted.image is None else await pictures.upload(pds, author, wanted.image)
    texts = {"title": wanted.title, "album": wanted.album, "description": wanted.description}
    fields = {**texts, "tags": wanted.tags, "image": image}

    def edit(found: Value) -> Value:
        new: Value = {name: value for name, value in fields.items() if value is not None}
        if featured is not None:
            new["features"] = featuring(found, featured)
        return changed(found, new, without_image=wanted.remove_image)

    return edit


def changed(found: Value, fields: Mapping[str, object], *, without_image: bool = False) -> Value:
    """The record with these fields, by the names that records give them; empty ones go."""
    gone = ("image", "imageUrl") if without_image else ()
    kept = {name: value for name, value in found.items() if name not in gone}
    return {name: value for name, value in {**kept, **fields}.items() if value or name not in fields}


def featuring(found: Value, dids: Iterable[Did]) -> list[Value]:
    """Features of these artists; what the record says of them already stays."""
    known = {feature["did"]: feature for feature in found.get("features", ())}
    return [known.get(did, {"did": did}) for did in dict.fromkeys(dids)]


async def dids(index: Index, network: Network, names: Sequence[str]) -> list[Did]:
    """Whom handles and DIDs name. Raises InvalidRequest."""
    found = [await _did(index, network, name.strip().removeprefix("@")) for name in names]
    for name, did in zip(names, found, strict=True):
        if did is None:
            raise InvalidRequest.of_field("features", f"nobody is called {name[:100]}")
    return [did for did in found if did is not None]


async def _did(index: Index, network: Network, name: str) -> Did | None:
    if is_did(name):
        return Did(name)
    if not is_handle(name):
        return None
    if (known := index.artist(name)) is not None:
        return known.did
    try:
        did = await network.find(Handle(name.lower()))
    except Unavailable as error:
        raise InvalidRequest.of_field("features", error.sentence) from error
    return None if did is None else Did(did)
