"""Ids of OpenSubsonic: the kind of a thing, and its id in the rest of the API. Pure.

Clients pass an id to methods of any kind, so that each id has to tell its own.
"""

from typing import Final, Literal, NamedTuple, get_args

from readapi.errors import NotFound

Kind = Literal["tr", "al", "ar", "pl", "si"]

TRACK: Final = "tr"
ALBUM: Final = "al"
ARTIST: Final = "ar"
PLAYLIST: Final = "pl"
SINGLES: Final = "si"  # the tracks of an artist that are on no album, shown as one
FOLDER: Final = 1  # the one music folder


class ItemId(NamedTuple):
    """A kind, and a name within it: a track's id, a list's id, or an account's DID."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}"


def read_id(text: str) -> ItemId:
    """Parse an id. Raises NotFound."""
    kind, _, name = text.partition("-")
    if not name or kind not in get_args(Kind):
        raise NotFound("There is nothing with this id.")
    return ItemId(kind, name)  # type: ignore[arg-type]  # among the kinds


def read_name(text: str, kind: Kind) -> str:
    """The name in an id of this kind. Raises NotFound."""
    found = read_id(text)
    if found.kind != kind:
        raise NotFound("This id is one of something else.")
    return found.name
