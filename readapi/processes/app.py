"""Builds the aiohttp application from the routes in `readapi.routes` and the services that they use."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.hdrs import METH_ANY

from readapi.http.endpoint import Endpoint, Routes
from readapi.http.request import bodies
from readapi.routes import api, pages


def all_endpoints() -> list[Endpoint]:
    """All endpoints; a module in `readapi.routes` needs no other registration."""
    found: list[Endpoint] = []
    for package in (api, pages):
        for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
            of_module = importlib.import_module(f"{package.__name__}.{module}").routes
            assert isinstance(of_module, Routes), f"routes of {module}"
            found.extend(of_module.endpoints)
    return found


def build_app(endpoints: Iterable[Endpoint], services: Mapping[type, object]) -> web.Application:
    """Build the application from endpoints and services. The gate sends what its handlers return."""
    app = web.Application(client_max_size=bodies.MOST_BYTES)
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    # Patterns with the same prefix are tried in turn, so the shortest, which are requested most, come first.
    for path, offered in sorted(paths.items(), key=lambda item: item[1][0].documented_path.count("/")):
        # The gate turns Answers into responses before aiohttp sees them.
        handlers: dict[str, Any] = {}
        for endpoint in offered:
            handlers |= dict.fromkeys(endpoint.methods, endpoint.handler(services))
        for address in {path, path.rstrip("/") or "/"}:
            resource = app.router.add_resource(address)
            for method, handler in handlers.items():
                resource.add_route(method, handler)
            resource.add_route(METH_ANY, _refusing(frozenset(handlers)))
    return app


def _refusing(methods: frozenset[str]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler for other methods of a path; no later pattern is tried, so `Allow` lists its methods."""

    async def refuse(request: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed(request.method, sorted(methods))

    return refuse
