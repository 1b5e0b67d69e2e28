"""Addresses in private Spaces; pure.

https://github.com/bluesky-social/proposals/tree/main/0016-permissioned-data
"""

from dataclasses import dataclass

from schemas.ids import AtUri, Did, Nsid, Rkey, is_did, is_nsid, is_rkey

_MARK = "space"  # where a public at-uri has a collection, which never is a single word
_KEY = Rkey("self")  # of the one Space of a type that an account's own programs share


@dataclass(frozen=True, slots=True)
class Space:
    """`at://{authority}/space/{type}/{skey}`: the DID that controls it, its type, and its key."""

    authority: Did
    type: Nsid
    skey: Rkey

    def __str__(self) -> str:
        return f"at://{self.authority}/{_MARK}/{self.type}/{self.skey}"

    @classmethod
    def own(cls, did: Did, space_type: Nsid) -> "Space":
        """An account's own Space of a type."""
        return cls(did, space_type, _KEY)


@dataclass(frozen=True, slots=True)
class InSpace(AtUri):
    """The address of one record in a Space: `{space}/{did}/{collection}/{rkey}`, `did` being its author."""

    space: Space

    def __str__(self) -> str:
        return f"{self.space}/{self.did}/{self.collection}/{self.rkey}"


def parse_address(text: str) -> AtUri:
    """Parse a record's address, public or in a Space. Raises ValueError."""
    parts = text.removeprefix("at://").split("/")
    if len(parts) != 7 or parts[1] != _MARK:
        return AtUri.parse(text)
    authority, _, space_type, skey, did, collection, rkey = parts
    if not (text.startswith("at://") and all(map(is_did, (authority, did)))):
        raise ValueError("the address has a malformed DID")
    if not (all(map(is_nsid, (space_type, collection))) and all(map(is_rkey, (skey, rkey)))):
        raise ValueError("the address has a malformed part")
    space = Space(Did(authority), Nsid(space_type), Rkey(skey))
    return InSpace(Did(did), Nsid(collection), Rkey(rkey), space)


def is_in_space(text: str) -> bool:
    """True for the address of a record in a Space."""
    try:
        return isinstance(parse_address(text), InSpace)
    except ValueError:
        return False
