"""Resolves which template applies and checks that it can, before anything is written or queued."""

from collections.abc import Sequence
from dataclasses import dataclass

from readapi.errors import AudienceUnavailable, InvalidRequest, PrivateAlbum
from readapi.pds.repo import Author
from readapi.publishing.access.capabilities import Capabilities
from readapi.state.publishing.jobs import JobRequest
from readapi.state.publishing.uploads import OnAlbum
from readapi.state.state import State
from schemas.errors import FieldError
from schemas.ids import AtUri
from schemas.publishing import (
    Fault,
    PolicyOrigin,
    Template,
    TemplateAccess,
    find_fault,
    is_private,
    narrows,
    resolve_template,
)
from schemas.rights import Rights, complete_rights

NOT_MOVED = "A track that is published cannot be moved into a private Space; publish it there again."


@dataclass(frozen=True, slots=True)
class Policy:
    """A template, where it comes from (track, album or account), and the rights that it attaches."""

    template: Template
    origin: PolicyOrigin
    rights: Rights | None


class Policies:
    """Raises InvalidRequest for an inconsistent template, AudienceUnavailable for an unavailable audience."""

    def __init__(self, state: State, capabilities: Capabilities) -> None:
        self._preferences = state.preferences
        self._album_templates = state.album_templates
        self._capabilities = capabilities

    async def of_upload(
        self,
        author: Author,
        sent: Template | None,
        album: OnAlbum | None,
        rights: Rights | None,
        *,
        attaches: bool = False,
    ) -> Policy:
        """The policy of a new track: its own template, else its album's, else the account's default.

        `attaches`: the track gets the rights of the upload even if its template attaches none.
        """
        chosen = await self._preferences.of(author.did)
        uri = None if album is None else album.uri
        of_album = None if uri is None else await self._album_templates.get(uri)
        template, origin = resolve_template(sent, of_album, chosen.publishing_defaults)
        if attaches and rights is not None and not template.attach_rights:
            template = template.model_copy(update={"attach_rights": True})
        else:
            rights = complete_rights(rights, chosen.rights)
        await self.check(author, template, "publishing", has_rights=rights is not None)
        return Policy(template, origin, rights)

    async def of_track(
        self,
        author: Author,
        settings: Template | None,
        album: AtUri | None,
        before: TemplateAccess,
        *,
        has_rights: bool,
    ) -> JobRequest:
        """The change that a published track gets. `has_rights`: its record has rights."""
        chosen = await self._preferences.of(author.did)
        of_album = None if album is None else await self._album_templates.get(album)
        template, origin = resolve_template(settings, of_album, chosen.publishing_defaults)
        any_rights = has_rights or chosen.rights is not None
        await self._check_change(author, template, has_rights=any_rights)
        loses = narrows(before, template.access)
        return JobRequest(author.did, author.grant_id, template, origin, narrows=loses)

    async def of_album(
        self,
        author: Author,
        settings: Template | None,
        album: AtUri,
        befores: Sequence[TemplateAccess],
        *,
        replace_overrides: bool,
        all_have_rights: bool,
    ) -> JobRequest:
        """The change that an album and its tracks get. Raises PrivateAlbum."""
        if settings is not None and is_private(settings):
            raise PrivateAlbum
        chosen = await self._preferences.of(author.did)
        template, origin = resolve_template(None, settings, chosen.publishing_defaults)
        any_rights = chosen.rights is not None or all_have_rights
        await self._check_change(author, template, has_rights=any_rights)
        loses = any(narrows(before, template.access) for before in befores)
        return JobRequest(author.did, author.grant_id, template, origin, album, replace_overrides, loses)

    async def check_album(self, author: Author, template: Template | None) -> None:
        """Check an album's own template, if it has one. Raises PrivateAlbum for a private template."""
        if template is None:
            return
        if is_private(template):
            raise PrivateAlbum
        chosen = await self._preferences.of(author.did)
        await self.check(author, template, "publishing_defaults", has_rights=chosen.rights is not None)

    async def _check_change(self, author: Author, template: Template, *, has_rights: bool) -> None:
        """Check a template for published tracks, which cannot move between public and private."""
        await self.check(author, template, "settings", has_rights=has_rights)
        if is_private(template):
            raise _unavailable("settings", Fault("access.listening", NOT_MOVED))

    async def check(self, author: Author, template: Template, field: str, *, has_rights: bool) -> None:
        """Raise unless the template is consistent and this service can verify its audiences."""
        check_consistency(template, field, has_rights=has_rights)
        unavailable = await self._capabilities.fault(author, template)
        if unavailable is not None:
            raise _unavailable(field, unavailable)


def check_consistency(template: Template, field: str, *, has_rights: bool) -> None:
    """Raise InvalidRequest unless the template is consistent, also with the account's rights metadata."""
    found = find_fault(template, has_rights=has_rights)
    if found is not None:
        raise InvalidRequest.of_field(f"{field}.{found.field}", found.message)


def _unavailable(field: str, fault: Fault) -> AudienceUnavailable:
    wrong = FieldError(field=f"{field}.{fault.field}", message=fault.message)
    return AudienceUnavailable(fault.message, errors=[wrong])
