"""The publishing template: who may hear a track, download it and find it. Always whole."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.access import Downloads, Listening, Visibility

PolicyOrigin = Literal["portal", "album", "track"]


class TemplateAccess(BaseModel):
    """The three audiences of a template."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listening: Listening
    downloads: Downloads
    visibility: Visibility


class Template(BaseModel):
    """A complete template; there are no partial ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    access: TemplateAccess
    attach_rights: bool
