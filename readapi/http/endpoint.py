"""A typed function → a route: its signature binds, validates, injects, documents; its return is rendered."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import structlog

from readapi.answers import HTML, JSON, Answer, render_json
from readapi.errors import ApiError
from readapi.http import eager
from readapi.http.admission import Authorization, Requirements
from readapi.http.binding import Services, Signature
from readapi.http.eager import Paused, in_task
from readapi.http.limits.body_pace import BodyIntake
from readapi.http.limits.quota import Quota
from readapi.http.request import bodies
from readapi.http.request.encodings import Encoding
from readapi.http.request.request import Request
from readapi.http.request.validation import Members
from readapi.http.response.headers import ANONYMOUS, PRIVATE, PUBLIC, Caching
from readapi.http.router import PATH_NAME, READY, Reply, Response
from readapi.http.router import Handler as Answering
from readapi.http.viewer import InSession, SignedIn
from readapi.oauth.scopes import Need
from schemas.api.shape import AskedInParts
from schemas.settings import Settings

log = structlog.get_logger()


Done = TypeVar("Done")


Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler = Callable[..., Any]
Handled = TypeVar("Handled", bound=Handler)
BodyReader = Callable[[Request, SignedIn | None], Awaitable[Members]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route: its address, requirements, parameters and answer, and whether the answer is cached.

    `operational` routes report the state of the service: never cached, exempt from rate limits. A GET that
    `acts` has a side effect each time: its answers are not cached, and it has no HEAD. `redirects`: it may
    answer browsers with a redirect. `status`: of the successful answer. One that is not `described` is
    not in the OpenAPI description: it speaks a protocol of its own. A GET whose handler is no coroutine is
    answered without a task (see `http/eager.py`). So is one that is `prompt`, unless there is an account.
    `by_accept`: its path has a page for browsers and JSON for programs, each an endpoint of its own.
    `endless`: its answer goes on until either side ends it, as server-sent events or a WebSocket.
    `form_on`: the path of the page with the form that is sent here, which may use this path's names.
    `caching`: of its answers to anonymous requests; `caching_of_accounts`: to those of accounts.
    `is_of_stores`: its answers depend on the index and the snapshot alone, as no service has BESIDE_STORES.
    """

    method: Method
    path: str
    function: Handler
    signature: Signature
    needs: Requirements
    tag: str
    raises: Sequence[type[ApiError]] = ()
    media_types: Sequence[str] = (JSON,)
    operational: bool = False
    acts: bool = False
    redirects: HTTPStatus | None = None
    status: HTTPStatus = HTTPStatus.OK
    described: bool = True
    prompt: bool = False
    by_accept: bool = False
    endless: bool = False
    form_on: str | None = None
    is_of_stores: bool = field(init=False)
    caching: Caching = field(init=False)
    caching_of_accounts: Caching = field(init=False)

    def __post_init__(self) -> None:
        services = self.signature.services.values()
        is_of_stores = not any(hasattr(service, "BESIDE_STORES") for service in services)
        caching, of_accounts = (ANONYMOUS, PRIVATE) if self.is_personal else (PUBLIC, PUBLIC)
        # Once: each answer asks for them.
        object.__setattr__(self, "is_of_stores", is_of_stores)
        object.__setattr__(self, "caching", caching.by_accept() if self.by_accept else caching)
        object.__setattr__(
            self, "caching_of_accounts", of_accounts.by_accept() if self.by_accept else of_accounts
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods: a GET without side effects also serves HEAD."""
        return ("GET", "HEAD") if self.only_asks else (self.method,)

    @property
    def is_page_beside_json(self) -> bool:
        """Whether it is the page at an address that has JSON for programs."""
        return self.by_accept and HTML in self.media_types

    @property
    def only_asks(self) -> bool:
        """Whether it has no side effect, so that it may be cancelled when the client disconnects."""
        return self.method == "GET" and not self.acts

    @property
    def is_personal(self) -> bool:
        """Whether its answers depend on the requester."""
        return self.signature.person is not None

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0].rstrip(".")

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[2].strip()

    def page_of_form(self, request: Request) -> str | None:
        """The path of the page with the form that this request sent; None for other requests."""
        if self.form_on is None:
            return None
        values = {name: quote(value, safe="") for name, value in request.path_values.items()}
        return self.form_on.format_map(values)

    @property
    def documented_path(self) -> str:
        """The path with bare names, as OpenAPI writes it."""
        return PATH_NAME.sub(r"{\1}", self.path)

    def handler(self, services: Services) -> Answering:
        """The request handler, with the services that the function's signature names."""
        bind, function, needs = self.signature.binder(services), self.function, self.needs
        admission = services[Authorization]
        assert isinstance(admission, Authorization)
        finishing = services[Detached]
        assert isinstance(finishing, Detached)
        read_body = self._body_reader(services)
        is_plain = not inspect.iscoroutinefunction(function)
        is_read = self.only_asks and self.signature.body is None

        def handle(request: Request) -> Reply:
            request.endpoint = self
            bodies.check_address(request)
            who = admission.admit(request, needs)
            if not is_read:
                return act(request, who)
            if is_plain:
                return self._ready(function(**bind(request, who, {})))
            if not self.prompt or who is not None:
                return read(request, who)
            begun = eager.start(function(**bind(request, who, {})))
            if isinstance(begun, READY):
                return begun
            return self._later(begun) if isinstance(begun, Paused) else self._ready(begun)

        async def read(request: Request, who: SignedIn | None) -> Response:
            await in_task()
            return self._ready(await function(**bind(request, who, {})))

        async def act(request: Request, who: SignedIn | None) -> Response:
            await in_task()
            sent = await read_body(request, who)
            return self._ready(await finishing.finish(work(request, who, sent)))

        async def work(request: Request, who: SignedIn | None, sent: Members) -> Any:
            try:
                result = function(**bind(request, who, sent))
                return result if is_plain else await result
            finally:
                bodies.discard_files(sent)

        return handle

    def _body_reader(self, services: Services) -> BodyReader:
        if self.signature.body is None:
            return _read_nothing
        asked = self.signature.body[1]
        settings = services.get(Settings) or Settings()
        intake = services.get(BodyIntake) or BodyIntake()
        assert isinstance(intake, BodyIntake)
        assert isinstance(settings, Settings)
        encoding = Encoding.of(asked, settings)
        if not issubclass(asked, AskedInParts):
            return lambda request, _: bodies.read_body(request, intake, encoding)
        quota = services[Quota] if encoding.large else None
        assert isinstance(quota, Quota | None)

        async def read(request: Request, who: SignedIn | None) -> Members:
            # A quota is counted per account: without one, anonymous requests could fill the disk.
            assert quota is None or who is not None
            room = None if quota is None or who is None else quota.room(who.did)
            with intake.form(request.client if who is None else who.did):
                return await bodies.read_body(request, intake, encoding, room)

        return read

    async def _later(self, begun: Paused[Any]) -> Response:
        return self._ready(await begun)

    def _ready(self, result: object) -> Response:
        if isinstance(result, READY):
            return result
        if result is None:
            return Answer(b"", status=HTTPStatus.NO_CONTENT)
        return Answer(render_json(result), status=self.status.value)


async def _read_nothing(_: Request, __: SignedIn | None) -> Members:
    return {}


class Options(TypedDict, total=False):
    """The options of a route besides its path; see `Endpoint`."""

    raises: Sequence[type[ApiError]]
    media_types: Sequence[str]
    operational: bool
    acts: bool
    redirects: HTTPStatus
    status: HTTPStatus
    described: bool
    prompt: bool
    by_accept: bool
    endless: bool
    form_on: str


class Conditions(Options, total=False):
    """The same, with the demands on the requester: see `Requirements`. `requires`: scopes to be granted."""

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
        """Serve a function that performs an action."""
        return self._register("POST", path, **conditions)

    def put(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Serve a function that replaces a resource as a whole."""
        return self._register("PUT", path, **conditions)

    def patch(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Serve a function that changes a part of a resource."""
        return self._register("PATCH", path, **conditions)

    def delete(self, path: str, **conditions: Unpack[Conditions]) -> Callable[[Handled], Handled]:
        """Serve a function that removes a resource."""
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
            signature = Signature.of(function, frozenset((name for name, _ in PATH_NAME.findall(path))))
            kind = signature.person.kind if signature.person and signature.person.required else None
            signed_in = kind is not None or bool(requires)
            needs = Requirements(signed_in, kind is InSession, requires, even_ended, from_any_page)
            self.endpoints.append(Endpoint(method, path, function, signature, needs, self.tag, **options))
            return function

        return register


class Detached:
    """Runs work with side effects to its end, even if the client disconnects meanwhile."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def finish(self, work: Coroutine[Any, Any, Done]) -> Done:
        """Await the work; it goes on if the caller is cancelled."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise

    async def close(self, patience_seconds: float) -> None:
        """Wait for running work, and cancel what takes longer than `patience_seconds`."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=patience_seconds)
        left = list(self._under_way)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _log_failure(done: "asyncio.Task[Any]") -> None:
    """Log a failure after the client has gone: nothing else reports it. Refusals concern the client alone."""
    error = None if done.cancelled() else done.exception()
    if error is not None and not isinstance(error, ApiError):
        log.error("failed for a client that had gone", exc_info=error)
