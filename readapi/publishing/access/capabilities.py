"""Which audiences an artist may choose on this service, and why the others are unavailable."""

from collections.abc import Mapping
from typing import cast

from readapi.errors import ApiError, PdsRefused, ScopeUpgradeRequired
from readapi.http.supporters import Supporters
from readapi.pds.repo import Author
from readapi.spaces.repos import SpaceRepos
from schemas.access import DOWNLOADS, LISTENING, Downloads, Listening
from schemas.publishing import Fault, Template

NO_VERIFIER = "This service cannot check who supports an artist."
NO_SPACES = "Your server does not offer private Spaces."
NOT_GRANTED = (
    "You have not granted this service your private Spaces; ask for it at /auth/scope-upgrade/start."
)
UNKNOWN = "Your server could not be asked whether it offers private Spaces."


class Capabilities:
    """Maps each audience to the reason why it is unavailable, or to None if it is available."""

    def __init__(self, repos: SpaceRepos, supporters: Supporters) -> None:
        self._repos = repos
        self._supporters = supporters

    async def listening(self, author: Author) -> Mapping[Listening, str | None]:
        """Each audience of listening."""
        reasons: dict[str, str | None] = dict.fromkeys(LISTENING)
        reasons["supporters"] = self._of_supporters
        reasons["space"] = await self._of_spaces(author)
        return cast("Mapping[Listening, str | None]", reasons)

    def downloads(self) -> Mapping[Downloads, str | None]:
        """Each audience of downloads."""
        reasons: dict[str, str | None] = dict.fromkeys(DOWNLOADS)
        reasons["supporters"] = self._of_supporters
        return cast("Mapping[Downloads, str | None]", reasons)

    async def fault(self, author: Author, template: Template) -> Fault | None:
        """The first audience of a template that is not available, and the reason."""
        access = template.access
        if reason := self.downloads()[access.downloads]:
            return Fault("access.downloads", reason)
        if access.listening == "supporters" and (reason := self._of_supporters):
            return Fault("access.listening", reason)
        if access.listening == "space" and (reason := await self._of_spaces(author)):
            return Fault("access.listening", reason)
        return None

    @property
    def _of_supporters(self) -> str | None:
        return None if self._supporters.available else NO_VERIFIER

    async def _of_spaces(self, author: Author) -> str | None:
        try:
            await self._repos.check(author)
        except ScopeUpgradeRequired:
            return NOT_GRANTED
        except PdsRefused:
            return NO_SPACES
        except ApiError:
            return UNKNOWN
        return None
