"""Edits of track records: metadata only, neither audio nor access."""

from collections.abc import Iterable, Mapping, Sequence

from readapi.errors import InvalidRequest
from readapi.index.lookups import Index
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.pds.records import images
from readapi.pds.repo import Author, Pds, Value
from readapi.pds.writing import Change
from schemas.api.tracks import TrackChange
from schemas.ids import Did, Handle, is_did, is_handle


async def make_change(
    wanted: TrackChange, pds: Pds, author: Author, index: Index, network: Network
) -> Change:
    """The edit function that applies a requested change. Raises InvalidRequest, and as `Pds` does."""
    names = wanted.features
    featured = None if names is None else await resolve_names(index, network, names)
    image = None if wanted.image is None else await images.upload_image(pds, author, wanted.image)
    texts = {"title": wanted.title, "album": wanted.album, "description": wanted.description}
    codes = {name: code for name, code in (("isrc", wanted.isrc), ("iswc", wanted.iswc)) if code is not None}
    fields = {**texts, "tags": wanted.tags, "image": image}

    def edit(found: Value) -> Value:
        new: Value = {name: value for name, value in fields.items() if value is not None}
        if featured is not None:
            new["features"] = make_features(found, featured)
        if codes:
            new["rights"] = set_fields(found.get("rights") or {}, codes)
        return set_fields(found, new, without_image=wanted.remove_image)

    return edit


def set_fields(found: Value, fields: Mapping[str, object], *, without_image: bool = False) -> Value:
    """The record with these fields set, by their lexicon names; empty ones are removed."""
    gone = ("image", "imageUrl") if without_image else ()
    kept = {name: value for name, value in found.items() if name not in gone}
    return {name: value for name, value in {**kept, **fields}.items() if value or name not in fields}


def make_features(found: Value, dids: Iterable[Did]) -> list[Value]:
    """The `features` of these artists; entries that exist keep their other fields."""
    known = {feature["did"]: feature for feature in found.get("features", ())}
    return [known.get(did, {"did": did}) for did in dict.fromkeys(dids)]


async def resolve_names(index: Index, network: Network, names: Sequence[str]) -> list[Did]:
    """The DIDs of handles and DIDs. Raises InvalidRequest."""
    found = [await _did(index, network, name.strip().removeprefix("@")) for name in names]
    for name, did in zip(names, found, strict=True):
        if did is None:
            raise InvalidRequest.of_field("features", f"there is no account called {name[:100]}")
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
