"""The record collections, each NSID written once, under a configurable namespace; OAuth scopes from them."""

from dataclasses import dataclass

from schemas.ids import Nsid

SCROBBLE = Nsid("fm.scrobbler.feed.play")

ATPROTO = "atproto"  # the scope of signing in at all
BLOBS = "blob:*/*"
SCROBBLING = f"repo:{SCROBBLE}"

LONGER = {"profile": "actor.profile"}  # where the end of an NSID is more than the record type's name


@dataclass(frozen=True, slots=True)
class Collections:
    """The five collections of one namespace: `Collections("fm.svc").track == "fm.svc.track"`."""

    namespace: str = "fm.svc"

    @property
    def track(self) -> Nsid:
        return Nsid(f"{self.namespace}.track")

    @property
    def like(self) -> Nsid:
        return Nsid(f"{self.namespace}.like")

    @property
    def comment(self) -> Nsid:
        return Nsid(f"{self.namespace}.comment")

    @property
    def list(self) -> Nsid:
        return Nsid(f"{self.namespace}.list")

    @property
    def profile(self) -> Nsid:
        return self.of("profile")

    def of(self, name: str) -> Nsid:
        """The collection of a record type by its name, those above among them."""
        return Nsid(f"{self.namespace}.{LONGER.get(name, name)}")

    @property
    def all(self) -> frozenset[Nsid]:
        """Exact names: `fm.svc.dev.track` belongs to another namespace."""
        return frozenset((self.track, self.like, self.comment, self.list, self.profile))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The OAuth scopes for writing each collection."""
        return tuple(
            f"repo:{nsid}" for nsid in (self.track, self.like, self.comment, self.list, self.profile)
        )

    @property
    def space(self) -> Nsid:
        """The type of private Spaces that hold tracks."""
        return Nsid(f"{self.namespace}.privateTracks")

    @property
    def space_scope(self) -> str:
        """The scope to create an account's own Space, write tracks there, and read other accounts' Spaces."""
        return f"space:{self.space}?authority=*&collection={self.track}&manage=create"

    @property
    def permission_set(self) -> str:
        """The permission set that grants these scopes in one: the NSID of its lexicon."""
        return f"include:{self.namespace}.authFullApp"
