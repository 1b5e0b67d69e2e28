"""The application: every route of `readapi.routes`, the services they ask for, and the gate before them."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from readapi import routes
from readapi.endpoint import Endpoint, Routes
from readapi.gate import Gate


def all_endpoints() -> list[Endpoint]:
    """Every endpoint there is: a module of `readapi.routes` needs no other registration."""
    found: list[Endpoint] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(routes.__path__)):
        of_module = importlib.import_module(f"{routes.__name__}.{module}").routes
        assert isinstance(of_module, Routes), f"routes of {module}"
        found.extend(of_module.endpoints)
    return found


def build_app(endpoints: Iterable[Endpoint], services: Mapping[type, object], gate: Gate) -> web.Application:
    """Put the parts together."""
    app = web.Application(middlewares=[gate.middleware])
    handlers = {}
    for endpoint in endpoints:
        # The gate turns Answers into responses before aiohttp sees them.
        handler: Any = endpoint.handler(services)
        handlers[handler] = endpoint
        for path in {endpoint.path, endpoint.path.rstrip("/") or "/"}:
            app.router.add_route("GET", path, handler)
            app.router.add_route("HEAD", path, handler)
    gate.guard(handlers)
    return app
