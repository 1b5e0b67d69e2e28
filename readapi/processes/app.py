"""Builds the router from the routes in `readapi.routes` and the services that they use."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping

from readapi.http.endpoint import Endpoint, Routes
from readapi.http.request.headers import prefers_page
from readapi.http.request.request import Request
from readapi.http.router import Handler, Reply, Router
from readapi.routes import api, pages, xrpc


def all_endpoints() -> list[Endpoint]:
    """All endpoints; a module in `readapi.routes.api` or `.pages` needs no other registration."""
    found: list[Endpoint] = []
    for package in (api, pages):
        for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
            of_module = importlib.import_module(f"{package.__name__}.{module}").routes
            assert isinstance(of_module, Routes), f"routes of {module}"
            found.extend(of_module.endpoints)
    return found + xrpc.query_endpoints(found)


def build_router(endpoints: Iterable[Endpoint], services: Mapping[type, object]) -> Router:
    """Build the router from endpoints and services. The gate sends what its handlers return."""
    router = Router()
    paths: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, []).append(endpoint)
    # Patterns with the same beginning are tried in turn: the shortest, which are requested most, come first.
    for path, offered in sorted(paths.items(), key=lambda item: item[1][0].documented_path.count("/")):
        handlers: dict[str, Handler] = {}
        for endpoint in offered:
            handler = endpoint.handler(services)
            for method in endpoint.methods:
                handlers[method] = _add_handler(handlers.get(method), endpoint, handler)
        for address in {path, path.rstrip("/") or "/"}:
            router.add(address, handlers)
    return router


def _add_handler(known: Handler | None, endpoint: Endpoint, handler: Handler) -> Handler:
    """The handler of a path and method: of one endpoint, or of one for programs and one for browsers."""
    if known is None:
        return handler
    assert endpoint.is_page_beside_json, f"two endpoints at {endpoint.path}, of which the second is no page"

    def answer(request: Request) -> Reply:
        chosen = handler if prefers_page(request.headers.get("Accept", "")) else known
        return chosen(request)

    return answer
