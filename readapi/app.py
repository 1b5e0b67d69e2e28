"""The application: every route of `readapi.routes`, and the services that they ask for."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from readapi import bodies, routes
from readapi.endpoint import Endpoint, Routes


def all_endpoints() -> list[Endpoint]:
    """Every endpoint there is: a module of `readapi.routes` needs no other registration."""
    found: list[Endpoint] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(routes.__path__)):
        of_module = importlib.import_module(f"{routes.__name__}.{module}").routes
        assert isinstance(of_module, Routes), f"routes of {module}"
        found.extend(of_module.endpoints)
    return found


def build_app(endpoints: Iterable[Endpoint], services: Mapping[type, object]) -> web.Application:
    """Put the routes together. What the application answers is for the gate to send."""
    app = web.Application(client_max_size=bodies.MOST_BYTES)
    # Patterns that begin alike are tried one after another: a thing itself is asked for most, then its parts.
    for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.path.count("/")):
        # The gate turns Answers into responses before aiohttp sees them.
        handler: Any = endpoint.handler(services)
        for path in {endpoint.path, endpoint.path.rstrip("/") or "/"}:
            for method in endpoint.methods:
                app.router.add_route(method, path, handler)
    return app
