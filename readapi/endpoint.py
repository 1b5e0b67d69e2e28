"""A typed function → a route: its signature binds, validates, injects, documents; its return is rendered."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from aiohttp import web

from readapi import bodies
from readapi.admission import Admission, Needs
from readapi.answers import JSON, Answer, render
from readapi.binding import Members, Services, Signature
from readapi.clients import CLIENT
from readapi.encodings import Encoding
from readapi.errors import ApiError
from readapi.finishing import Finishing
from readapi.intake import Intake
from readapi.oauth.scopes import Need
from readapi.publishing.quota import Quota
from readapi.state.showing import Showing
from readapi.viewer import InSession, SignedIn
from schemas.api.shape import AskedInParts
from schemas.settings import Settings

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler = Callable[..., Awaitable[Any]]
Handled = TypeVar("Handled", bound=Handler)
BodyReader = Callable[[web.Request, SignedIn | None], Awaitable[Members]]

_PATH_NAME = re.compile(r"{(\w+)(?::[^{}]*)?}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route: how it is reached, what it needs and takes, what it answers, and whether that is kept.

    `operational` routes tell how the service is: never cached, and no rate limit counts them. A GET that
    `acts` does something each time: nothing keeps its answers, and there is no HEAD. `redirects`: instead of
    its answer it may send browsers elsewhere. `status`: of an answer that says what it was asked for.
    """

    method: Method
    path: str
    function: Handler
    signature: Signature
    needs: Needs
    tag: str
    raises: Sequence[type[ApiError]] = ()
    media_types: Sequence[str] = (JSON,)
    operational: bool = False
    acts: bool = False
    redirects: HTTPStatus | None = None
    status: HTTPStatus = HTTPStatus.OK

    @property
    def methods(self) -> tuple[str, ...]:
        """GET is HEAD as well, where asking changes nothing."""
        return ("GET", "HEAD") if self.only_asks else (self.method,)

    @property
    def only_asks(self) -> bool:
        """Nothing changes, so that it may stop half way when nobody waits for the answer any more."""
        return self.method == "GET" and not self.acts

    @property
    def is_of_stores(self) -> bool:
        """Its answers change with the stores alone, not with what people choose to show."""
        return Showing not in self.signature.services.values()

    @property
    def is_personal(self) -> bool:
        """Its answers depend on who asks."""
        return self.signature.person is not None

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
        bind, function, needs = self.signature.binder(services), self.function, self.needs
        admission = services[Admission]
        assert isinstance(admission, Admission)
        finishing = services[Finishing]
        assert isinstance(finishing, Finishing)
        read_body = self._body_reader(services)

        async def work(request: web.Request, who: SignedIn | None, sent: Members) -> Any:
            try:
                return await function(**bind(request, who, sent))
            finally:
                bodies.discard(sent)

        async def handle(request: web.Request) -> Answer[Any] | web.StreamResponse:
            request[ENDPOINT] = self
            bodies.check_address(request)
            who = admission.admit(request, needs)
            working = work(request, who, await read_body(request, who))
            result = await (working if self.only_asks else finishing.finish(working))
            return result if isinstance(result, Answer | web.StreamResponse) else self._answer(result)

        return handle

    def _body_reader(self, services: Services) -> BodyReader:
        if self.signature.body is None:
            return _nothing
        asked = self.signature.body[1]
        settings = services.get(Settings) or Settings()
        intake = services.get(Intake) or Intake()
        assert isinstance(intake, Intake)
        assert isinstance(settings, Settings)
        encoding = Encoding.of(asked, settings)
        if not issubclass(asked, AskedInParts):
            return lambda request, _: bodies.read(request, intake, encoding)
        quota = services[Quota] if encoding.large else None
        assert isinstance(quota, Quota | None)

        async def read(request: web.Request, who: SignedIn | None) -> Members:
            # Whoever such a route does not ask for could fill the disk.
            assert quota is None or who is not None
            room = None if quota is None or who is None else quota.room(who.did)
            with intake.form(request[CLIENT] if who is None else who.did):
                return await bodies.read(request, intake, encoding, room)

        return read

    def _answer(self, result: object) -> Answer[Any]:
        if result is None:
            return Answer(b"", status=HTTPStatus.NO_CONTENT)
        return Answer(render(result), status=self.status)


async def _nothing(_: web.Request, __: SignedIn | None) -> Members:
    return {}


ENDPOINT = web.RequestKey("endpoint", Endpoint)  # where a request says what answers it


class Options(TypedDict, total=False):
    """What may be said of a route besides its path; see `Endpoint`."""

    raises: Sequence[type[ApiError]]
    media_types: Sequence[str]
    operational: bool
    acts: bool
    redirects: HTTPStatus
    status: HTTPStatus


class Conditions(Options, total=False):
    """The same, with what it asks of whoever uses it: that they granted what it `requires`; see `Needs`."""

    requires: Sequence[Need]
    even_ended: bool
    from_any_page: bool


class Routes:
    """The routes of one module, in the order they are written."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.endpoints: list[Endpoint] = []

    def get(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Serve a function at a path, for GET and HEAD. Query parameters it does not name are ignored."""
        return self._register("GET", path, **conditions)

    def post(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Let a function do something."""
        return self._register("POST", path, **conditions)

    def put(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Let a function replace something whole."""
        return self._register("PUT", path, **conditions)

    def patch(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Let a function change something in part."""
        return self._register("PATCH", path, **conditions)

    def delete(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Let a function take something away."""
        return self._register("DELETE", path, **conditions)

    def _register(
        self,
        method: Method,
        path: str,
        *,
        requires: Sequence[Need] = (),
        even_ended: bool = False,
        from_any_page: bool = False,
        **options: Unpack[Options],
    ) -> Callable[[Handled], Handled]:
        def register(function: Handled) -> Handled:
            if not inspect.getdoc(function):
                raise TypeError(f"{function.__module__}.{function.__name__} has no docstring")
            signature = Signature.of(function, frozenset(_PATH_NAME.findall(path)))
            kind = signature.person.kind if signature.person and signature.person.required else None
            signed_in = kind is not None or bool(requires)
            needs = Needs(signed_in, kind is InSession, requires, even_ended, from_any_page)
            self.endpoints.append(Endpoint(method, path, function, signature, needs, self.tag, **options))
            return function

        return register
