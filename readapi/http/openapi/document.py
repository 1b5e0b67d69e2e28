"""Routes → the OpenAPI 3.1 description: every parameter, shape and status that a route can answer."""

import asyncio
import types
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, get_args, get_origin

import orjson
from aiohttp import web
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from readapi import errors
from readapi.answers import EVENT_STREAM, HTML, JSON, Answer
from readapi.http.admission import SAFE_METHODS
from readapi.http.binding import ABSENT, Parameter
from readapi.http.endpoint import Endpoint
from readapi.http.openapi import body_schemas
from readapi.http.openapi.examples.operations import EXAMPLES
from readapi.http.openapi.examples.showing import show_example
from readapi.http.request import cookies, encodings
from readapi.http.request.headers import Conditions, IdempotencyKey, LastEventId
from readapi.index.lookups import Index
from readapi.index.snapshots.interface import Snapshots
from schemas.errors import ErrorBody

_REF = "#/components/schemas/{model}"
_DESCRIPTION = (
    "Search, play and publish audio records (`fm.svc.*`) on the AT Protocol network. "
    "Public answers have an ETag. All errors have the same shape. "
    "Query parameters that a route does not name are ignored."
)
_SECURITY_SCHEMES = {
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": cookies.SESSION,
        "description": "The session cookie of browsers.",
    },
    "bearer": {"type": "http", "scheme": "bearer", "description": "A session id or a developer token."},
}
_LICENSE = {"name": "MIT", "identifier": "MIT"}
_OF_PAGES = frozenset(
    {
        HTML.partition(";")[0],
        "text/css",
        "text/javascript",
        "image/svg+xml",
        "image/png",
        "image/webp",
        "image/x-icon",
    }
)
_TAGS = {
    "albums": "Albums, and downloads of whole albums.",
    "artists": "Accounts that published audio records, and the tracks that they like.",
    "audio": "Streaming and downloads, subject to each track's access settings.",
    "data": "Totals, time series, SQL, exports, and a feed of all that changes.",
    "embed": "Players for other sites.",
    "meta": "Health, metrics, and the description of this API.",
    "oembed": "oEmbed (https://oembed.com): embeddable players by the URL of a page.",
    "pages": "HTML pages and their forms.",
    "playlists": "Playlists, which can hold any artist's tracks.",
    "publishing": "Uploads, earlier versions of audio, and access settings.",
    "reactions": "Likes, comments and plays.",
    "search": "Full-text search over all types.",
    "signing in": "Sessions, linked accounts and developer tokens.",
    "webhooks": "Changes sent to addresses of developers, as they happen.",
    "tracks": "Tracks, with their likes, comments and proofs.",
}
_HEADERS: Mapping[type, dict[str, Any]] = {
    IdempotencyKey: {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "Your name for this request: repeating it with the same name does nothing more.",
        "schema": {"type": "string", "maxLength": IdempotencyKey.MOST_LETTERS},
    },
    LastEventId: {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "description": "The `id` of the last event received: what came after it follows. Browsers send it.",
        "schema": {"type": "string"},
    },
}
_ALWAYS: tuple[type[errors.ApiError], ...] = (errors.BadRequest, errors.Internal)


class Description:
    """The OpenAPI document, made when it is first requested."""

    def __init__(self, endpoints: Iterable[Endpoint], server: str) -> None:
        self._endpoints = api_endpoints(endpoints)
        self._server = server
        self._making: asyncio.Future[bytes] | None = None

    async def json(self) -> bytes:
        """The document as JSON. Made in a thread, because it takes a good part of a second."""
        if self._making is None:
            self._making = asyncio.ensure_future(
                asyncio.to_thread(describe_api, self._endpoints, self._server)
            )
        return await asyncio.shield(self._making)


def api_endpoints(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """The routes of the API: without pages and their forms and fragments, and without other protocols."""
    return tuple(endpoint for endpoint in endpoints if endpoint.described and not _is_of_pages(endpoint))


def describe_api(endpoints: Iterable[Endpoint], server: str) -> bytes:
    """The description of these routes, as JSON."""
    routes = list(endpoints)
    shapes = _Shapes(routes)
    paths: dict[str, Any] = {}
    for endpoint in routes:
        paths.setdefault(endpoint.documented_path, {}).update(_operation(endpoint, shapes))
    document = {
        "openapi": "3.1.1",
        "info": {
            "title": "fmsvc",
            "version": version("fmsvc-server"),
            "description": _DESCRIPTION,
            "license": _LICENSE,
            "contact": {"url": server},
        },
        "servers": [{"url": server}],
        "tags": [{"name": tag, "description": _TAGS[tag]} for tag in sorted({one.tag for one in routes})],
        "paths": paths,
        "components": {"schemas": shapes.components, "securitySchemes": _SECURITY_SCHEMES},
    }
    return orjson.dumps(document)


class _Shapes:
    """The schemas of all answers, each model once under its own name."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self._said: dict[Any, dict[str, Any]] = {}  # by shape: an error's is needed 300 times
        returned = {_shape(endpoint.signature.returns) for endpoint in endpoints} - {None}
        models = [(shape, "serialization") for shape in [*_models(returned), ErrorBody]]
        _, definitions = models_json_schema(models, by_alias=True, ref_template=_REF)  # type: ignore[arg-type]
        found = dict(definitions["$defs"])
        for endpoint in endpoints:
            if endpoint.signature.body is not None:
                found |= body_schemas.make_schemas(endpoint.signature.body[1], _kinds(endpoint), _REF)
        self.components: dict[str, Any] = {
            name: _allow_more_fields(schema) for name, schema in sorted(found.items())
        }

    def of(self, shape: Any) -> dict[str, Any]:
        """The schema reference to an answer's shape."""
        if shape not in self._said:
            self._said[shape] = self._say(shape)
        return self._said[shape]

    def _say(self, shape: Any) -> dict[str, Any]:
        schema = TypeAdapter(shape).json_schema(by_alias=True, mode="serialization", ref_template=_REF)
        schema.pop("$defs", None)
        if schema.get("title") in self.components and "$ref" not in schema:
            return {"$ref": _REF.format(model=schema["title"])}
        return schema


def _operation(endpoint: Endpoint, shapes: _Shapes) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": endpoint.description or endpoint.summary,
        "operationId": endpoint.function.__name__,
        "tags": [endpoint.tag],
        "security": _security(endpoint),
        "parameters": [
            *map(_parameter, endpoint.signature.parameters),
            *(_HEADERS[kind] for kind in endpoint.signature.headers.values() if kind in _HEADERS),
        ],
        "responses": _responses(endpoint, shapes),
    }
    if endpoint.signature.body is not None:
        described["requestBody"] = _body(endpoint)
    if (example := EXAMPLES.get(endpoint.function.__name__)) is not None:
        show_example(example, described, endpoint.media_types[0].partition(";")[0], endpoint.status)
    return {endpoint.method.lower(): described}


def _is_of_pages(endpoint: Endpoint) -> bool:
    return {media_type.partition(";")[0] for media_type in endpoint.media_types} <= _OF_PAGES


def _security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    """The security schemes of a route; an empty one means anonymous. Public routes have none."""
    if not endpoint.is_personal and not endpoint.needs.signed_in:
        return []
    known: list[dict[str, list[str]]] = [{"cookie": []}, {"bearer": []}]
    return known if endpoint.needs.signed_in else [{}, *known]


def _kinds(endpoint: Endpoint) -> tuple[str, ...]:
    """The media types of the request body that are described."""
    assert endpoint.signature.body is not None
    asked = endpoint.signature.body[1]
    return encodings.media_types(asked) if _is_of_pages(endpoint) else body_schemas.described_kinds(asked)


def _body(endpoint: Endpoint) -> dict[str, Any]:
    assert endpoint.signature.body is not None
    asked = endpoint.signature.body[1]
    content = {
        kind: {"schema": {"$ref": _REF.format(model=body_schemas.schema_name(asked, kind))}}
        for kind in _kinds(endpoint)
    }
    required = any(field.is_required() for field in asked.model_fields.values())
    return {"required": required, "content": content}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = _without_null(parameter.adapter.json_schema())
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
    }
    if "description" in schema:
        described["description"] = schema.pop("description")
    if parameter.default is not ABSENT and parameter.default is not None:
        schema["default"] = list(parameter.default) if parameter.many else parameter.default
    return {**described, "schema": schema}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null: a query parameter is absent instead."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **choices[0]}


def _responses(endpoint: Endpoint, shapes: _Shapes) -> dict[str, Any]:
    """The answers of a route, by status."""
    success: dict[str, Any] = {"description": "As asked for."}
    shape = _shape(endpoint.signature.returns)
    has_content = shape is not types.NoneType
    if has_content:
        schema = shapes.of(shape) if shape is not None else {"type": "string"}
        success["content"] = {
            media_type.partition(";")[0]: {"schema": schema if media_type == JSON else _text(media_type)}
            for media_type in endpoint.media_types
        }
    responses = {str(int(endpoint.status)) if has_content else "204": success}
    if "HEAD" in endpoint.methods and not endpoint.operational:
        responses["304"] = {"description": "The cached answer is still current."}
    if Conditions in endpoint.signature.headers.values():
        responses["206"] = {**success, "description": "The requested range."}
    if endpoint.endless:
        responses["101"] = {
            "description": "A WebSocket, where the request asks for one: each message is JSON."
        }
    if endpoint.redirects is not None:
        responses[str(int(endpoint.redirects))] = {
            "description": "A redirect to Location. With `Accept: application/json`, the URL as JSON instead."
        }
    for status, kinds in _refusals(endpoint).items():
        shape = _refusal_shape(endpoint, status)
        content = {"schema": shapes.of(shape)}
        if shape is ErrorBody:
            # One alone: the page of the reference has no name for the choice among several.
            content["example"] = {"detail": kinds[0].code, "message": kinds[0].sentence}
        responses[str(int(status))] = {
            "description": " ".join(kind.sentence for kind in kinds),
            "content": {JSON: content},
        }
    return responses


def _text(media_type: str) -> dict[str, Any]:
    """Content other than JSON. A stream gets no schema: readers would take it for that of each event."""
    if media_type == EVENT_STREAM:
        return {"description": "Server-sent events; the `data` of each is JSON."}
    return {"type": "string"}


def _refusal_shape(endpoint: Endpoint, status: HTTPStatus) -> Any:
    """The error body; the readiness report keeps its own shape with status 503."""
    reports = endpoint.operational and status == HTTPStatus.SERVICE_UNAVAILABLE
    return _shape(endpoint.signature.returns) if reports else ErrorBody


def _refusals(endpoint: Endpoint) -> Mapping[HTTPStatus, list[type[errors.ApiError]]]:
    kinds = [*endpoint.raises, *_ALWAYS]
    if any(parameter.place == "path" for parameter in endpoint.signature.parameters):
        kinds.append(errors.NotFound)
    if endpoint.signature.parameters or not _HEADERS.keys().isdisjoint(endpoint.signature.headers.values()):
        kinds.append(errors.InvalidRequest)
    if any(parameter.name == "cursor" for parameter in endpoint.signature.parameters):
        kinds.append(errors.InvalidCursor)
    if not endpoint.operational:
        kinds += [errors.RateLimited, errors.StateUnavailable]
    kinds += _admission_refusals(endpoint)
    if not endpoint.operational and {Index, Snapshots} & set(endpoint.signature.services.values()):
        kinds.append(errors.IndexNotReady)
    found: dict[HTTPStatus, list[type[errors.ApiError]]] = {}
    for kind in sorted(dict.fromkeys(kinds), key=lambda kind: (kind.status, kind.__name__)):
        found.setdefault(kind.status, []).append(kind)
    return found


def _admission_refusals(endpoint: Endpoint) -> list[type[errors.ApiError]]:
    """The refusals that come before the route's own function."""
    kinds: list[type[errors.ApiError]] = []
    if endpoint.needs.signed_in:
        kinds += [errors.NotAuthenticated, errors.SessionExpired]
    if endpoint.needs.scopes:
        kinds.append(errors.ScopeUpgradeRequired)
    if endpoint.method not in SAFE_METHODS:
        kinds.append(errors.ForeignOrigin)
    if endpoint.signature.body is not None:
        kinds += [errors.InvalidRequest, errors.TooLarge, errors.UnsupportedMediaType]
        kinds.append(errors.RequestTimeout)
    return kinds


def _shape(returns: Any) -> Any:
    """The shape of an answer; None when it is not JSON of ours."""
    if get_origin(returns) is Answer:
        inner = get_args(returns)[0]
        return None if inner in (str, bytes) else inner
    return None if returns is web.StreamResponse else returns


def _models(shapes: Iterable[Any]) -> list[Any]:
    """The models of shapes and of list items, sorted, so that the document is the same each time."""
    found = {part for shape in shapes for part in get_args(shape) or (shape,)}
    models = [shape for shape in found if isinstance(shape, type) and issubclass(shape, BaseModel)]
    return sorted(models, key=lambda model: model.__name__)


def _allow_more_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without `additionalProperties: false`: fields may be added at any time."""
    schema.pop("additionalProperties", None)
    for member in schema.get("properties", {}).values():
        if member.get("default", ...) is None:
            del member["default"]
    return schema
