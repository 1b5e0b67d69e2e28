"""A typed function → a route: its signature binds, validates, injects, documents; its return is rendered."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web

from readapi.answers import JSON, Answer, render
from readapi.binding import Services, Signature
from readapi.errors import ApiError

Handler = Callable[..., Awaitable[Any]]
Handled = TypeVar("Handled", bound=Handler)

_PATH_NAME = re.compile(r"{(\w+)(?::[^{}]*)?}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route: how it is reached, what it takes, what it answers, and whether it is kept and counted.

    `operational` routes tell how the service is: never cached, and no rate limit counts them.
    """

    path: str
    function: Handler
    signature: Signature
    raises: tuple[type[ApiError], ...]
    media_types: tuple[str, ...]
    operational: bool
    tag: str

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0].rstrip(".")

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[2].strip()

    @property
    def documented_path(self) -> str:
        """The path with bare names, as OpenAPI writes it."""
        return _PATH_NAME.sub(r"{\1}", self.path)

    def handler(
        self, services: Services
    ) -> Callable[[web.Request], Awaitable[Answer[Any] | web.StreamResponse]]:
        """What answers a request, with the services that the function asks for."""
        bind, function = self.signature.binder(services), self.function

        async def handle(request: web.Request) -> Answer[Any] | web.StreamResponse:
            request[ENDPOINT] = self
            result = await function(**bind(request))
            return result if isinstance(result, Answer | web.StreamResponse) else Answer(render(result))

        return handle


ENDPOINT = web.RequestKey("endpoint", Endpoint)  # where a request says what answers it


class Routes:
    """The routes of one module, in the order they are written."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.endpoints: list[Endpoint] = []

    def get(
        self,
        path: str,
        *,
        raises: Sequence[type[ApiError]] = (),
        media_types: Sequence[str] = (JSON,),
        operational: bool = False,
    ) -> Callable[[Handled], Handled]:
        """Serve a function at a path, for GET and HEAD. Query parameters it does not name are ignored."""

        def register(function: Handled) -> Handled:
            if not inspect.getdoc(function):
                raise TypeError(f"{function.__module__}.{function.__name__} has no docstring")
            signature = Signature.of(function, frozenset(_PATH_NAME.findall(path)))
            endpoint = Endpoint(
                path, function, signature, tuple(raises), tuple(media_types), operational, self.tag
            )
            self.endpoints.append(endpoint)
            return function

        return register
