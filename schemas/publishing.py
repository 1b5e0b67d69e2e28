"""The publishing template: who may hear a track, download it and find it. Always whole. Pure."""

import functools
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from schemas.access import Access, Downloads, Listening, Viewer, Visibility, may_download, may_listen, may_see
from schemas.ids import Did

PolicyOrigin = Literal["portal", "album", "track"]


class TemplateAccess(BaseModel):
    """The three audiences of a template."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listening: Listening = Field(description="`space` goes together with `private` visibility.")
    downloads: Downloads
    visibility: Visibility = Field(
        description="`private` goes together with listening in a `space`: one of them without the other is "
        "refused, and both are available where `/capabilities` says that `space` is."
    )


class Template(BaseModel):
    """A complete template; there are no partial ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    access: TemplateAccess
    attach_rights: StrictBool


OPEN = TemplateAccess(listening="public", downloads="open", visibility="public")
ARTIST_ONLY = TemplateAccess(listening="owner", downloads="off", visibility="unlisted")
DEFAULT = Template(access=OPEN, attach_rights=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a template cannot be used: the field at fault, and a sentence."""

    field: str
    message: str


def resolve_template(
    upload: Template | None, album: Template | None, portal: Template | None
) -> tuple[Template, PolicyOrigin]:
    """The template that applies, and its origin: the upload's, else the album's, else the Portal's."""
    if upload is not None:
        return upload, "track"
    if album is not None:
        return album, "album"
    return portal or DEFAULT, "portal"


def find_fault(template: Template, *, has_rights: bool) -> Fault | None:
    """The fault of a template for one track, if any. `has_rights`: there are rights to attach."""
    access = template.access
    if (access.visibility == "private") != (access.listening == "space"):
        return Fault("access.visibility", "private visibility and space listening go together or not at all")
    if template.attach_rights and not has_rights:
        return Fault("attach_rights", "needs rights, on the upload or saved in the preferences")
    return None


def is_private(template: Template) -> bool:
    """Does it require a private Space? Albums cannot be in one: their lists are public."""
    return template.access.visibility == "private" or template.access.listening == "space"


def is_protected(access: TemplateAccess) -> bool:
    """Must the original stay in the private store, because it is not public?"""
    return access.listening != "public" or access.downloads in ("supporters", "off")


def needs_rendition(access: TemplateAccess) -> bool:
    """Is there an audience that may listen but not download?"""
    allowed = _allowed(access)
    return any(("listen", viewer) in allowed and ("download", viewer) not in allowed for viewer in _VIEWERS)


def narrows(before: TemplateAccess, after: TemplateAccess) -> bool:
    """Does any audience lose access? Copies made before cannot be recalled."""
    return not _allowed(before) <= _allowed(after)


def widens(before: TemplateAccess, after: TemplateAccess) -> bool:
    """Does any audience gain access?"""
    return narrows(after, before)


_ARTIST = Did("did:plc:artist")
_STRANGER = Viewer(Did("did:plc:stranger"))
_SUPPORTER = Viewer(Did("did:plc:supporter"), frozenset({_ARTIST}))
_VIEWERS = (None, _STRANGER, _SUPPORTER)
_PLACES: tuple[Literal["discovery", "profile", "search", "direct"], ...] = (
    "discovery",
    "profile",
    "search",
    "direct",
)


@functools.cache
def _allowed(access: TemplateAccess) -> frozenset[tuple[object, ...]]:
    """All permissions of viewers other than the artist. A Space's members are unknown to us."""
    track = Access(_ARTIST, access.listening, access.downloads, access.visibility)
    seeing = {
        ("see", viewer, place) for viewer in _VIEWERS for place in _PLACES if may_see(track, viewer, place)
    }
    listening = {("listen", viewer) for viewer in _VIEWERS if may_listen(track, viewer)}
    downloading = {("download", viewer) for viewer in _VIEWERS if may_download(track, viewer)}
    in_a_space = {("listen", "member")} if access.listening in ("public", "signed_in", "space") else set()
    return frozenset(seeing | listening | downloading | in_a_space)
