"""Routes that browsers use: each answers with a page, or leads on to one."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Unpack

from readapi.answers import HTML
from readapi.endpoint import Conditions, Handled, Routes

_FOR_BROWSERS: Conditions = {"media_types": (HTML,), "redirects": HTTPStatus.SEE_OTHER}


class PageRoutes(Routes):
    """The pages and the forms of one module."""

    def __init__(self) -> None:
        super().__init__("pages")

    def page(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Show a page."""
        return self.get(path, **(_FOR_BROWSERS | conditions))

    def deed(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Do what a form asks for."""
        return self.post(path, **(_FOR_BROWSERS | conditions))
