"""Route declarations for browsers: each responds with a page or redirects to one."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Unpack

from readapi.answers import HTML
from readapi.http.endpoint import Conditions, Handled, Routes

_FOR_BROWSERS: Conditions = {"media_types": (HTML,), "redirects": HTTPStatus.SEE_OTHER}


class PageRoutes(Routes):
    """The pages and the forms of one module."""

    def __init__(self) -> None:
        super().__init__("pages")

    def page(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Declare a page (GET)."""
        return self.get(path, **(_FOR_BROWSERS | conditions))

    def deed(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Declare a form's action (POST)."""
        return self.post(path, **(_FOR_BROWSERS | conditions))
