"""Writes the lexicons of the XRPC query methods into lexicons/, from their routes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from readapi.http.binding import ABSENT, Parameter
from readapi.http.endpoint import Endpoint
from readapi.processes.app import all_endpoints
from readapi.routes.xrpc import Method, find_routes
from schemas.api.shape import Page
from schemas.collections import Collections

FOLDER = Path(__file__).parents[1] / "lexicons"
DEFS = f"{Collections().namespace}.defs"
JSON = "application/json"
Schema = dict[str, Any]

# Formats of the JSON schemas that lexicons have too, by their name there.
FORMATS = {"did": "did", "at-uri": "at-uri", "uri": "uri", "date-time": "datetime"}
ABOUT = {
    "track": "A track's id, alone or with its check, or its at-uri.",
    "album": "An album's id, or its at-uri.",
    "playlist": "A playlist's id, or its at-uri.",
    "cursor": "`cursor` of the page before; none for the first page.",
    "sort": "The order of the tracks.",
    "period": "The period whose likes count; it ends now.",
    "limit": "The most that one page holds.",
}
OF_LISTS_BY_ARTIST = "Only tracks of the artist with this DID."
CURSOR = {
    "type": "string",
    "description": "Pass as `cursor` for the next page; absent on the last page only. A page may have fewer "
    "than `limit`, or nothing, and still have a next page.",
}
NOT_FOUND = {"name": "NotFound", "description": "It does not exist, or the viewer may not see it."}
INVALID_CURSOR = {"name": "InvalidCursor", "description": "The cursor was not issued by this list."}


class Shapes:
    """The shapes of answers; those that others refer to become definitions of one lexicon."""

    def __init__(self) -> None:
        self.defs: dict[str, Schema] = {}

    def output(self, method: Method, route: Endpoint) -> Schema:
        """The schema of a method's answer."""
        shape = method.shape(route)
        schema = TypeAdapter(shape).json_schema(mode="serialization", ref_template="{model}")
        for name, definition in schema.pop("$defs", {}).items():
            self.defs[_def_name(name)] = self._object(definition)
        if method.member is not None:
            return {
                "type": "object",
                "required": [method.member],
                "properties": {method.member: self._part(schema)},
            }
        if isinstance(shape, type) and issubclass(shape, Page):
            found = self._object(schema)
            for name in ("next_cursor", "has_more"):
                del found["properties"][name]
                found["required"].remove(name)
            found["nullable"] = [name for name in found.get("nullable", []) if name != "next_cursor"]
            found["properties"] = {"cursor": CURSOR, **found["properties"]}
            return _without_empty(found)
        self.defs[_def_name(shape.__name__)] = self._object(schema)
        return {"type": "ref", "ref": f"{DEFS}#{_def_name(shape.__name__)}"}

    def _object(self, schema: Schema) -> Schema:
        members = {name: part for name, part in schema["properties"].items() if part.get("type") != "number"}
        described = _without_empty(
            {
                "type": "object",
                "description": schema["description"].replace("\n\n", " ").replace("\n", " "),
                "required": [name for name in schema.get("required", ()) if name in members],
                "nullable": [name for name, part in members.items() if _is_nullable(part)],
            }
        )
        return described | {"properties": {name: self._part(part) for name, part in members.items()}}

    def _part(self, schema: Schema) -> Schema:
        about = {"description": schema["description"]} if "description" in schema else {}
        if "anyOf" in schema:
            [schema] = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
        if "$ref" in schema:
            return {"type": "ref", "ref": f"{DEFS}#{_def_name(schema['$ref'])}", **about}
        if schema["type"] == "array":
            return {"type": "array", "items": self._part(schema["items"]), **about}
        return plain(schema, "knownValues") | about  # new values may come


def plain(schema: Schema, choices: str) -> Schema:
    """A string, a number or a boolean. `choices`: the rule for a list of values."""
    found: Schema = {"type": schema["type"]}
    if (named := FORMATS.get(schema.get("format", ""))) is not None:
        found["format"] = named
    if "const" in schema or "enum" in schema:
        found[choices] = schema.get("enum") or [schema["const"]]
    for name in ("minimum", "maximum"):
        if name in schema:
            found[name] = schema[name]
    if "exclusiveMaximum" in schema:
        found["maximum"] = schema["exclusiveMaximum"] - 1
    if "minLength" in schema:
        found["minLength"] = schema["minLength"]
    if "maxLength" in schema:
        # Lexicons count bytes, of which a character has at most four.
        found |= {"maxLength": 4 * schema["maxLength"], "maxGraphemes": schema["maxLength"]}
    return found


def parameters(endpoint: Endpoint) -> Schema:
    """The parameters of a method's endpoint."""
    found = endpoint.signature.parameters
    return _without_empty(
        {
            "type": "params",
            "required": [parameter.name for parameter in found if parameter.required],
            "properties": {parameter.name: _parameter(parameter) for parameter in found},
        }
    )


def _parameter(parameter: Parameter) -> Schema:
    schema = parameter.adapter.json_schema()
    about = schema.get("description")
    if "anyOf" in schema:
        [inner] = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
        schema = inner
    if isinstance(schema["type"], list):
        schema = {"type": "string"}
    described = {"description": ABOUT.get(parameter.name) or about or OF_LISTS_BY_ARTIST}
    if schema["type"] == "array":
        items = plain(schema["items"], "enum")
        return {"type": "array", "items": items, "maxLength": schema["maxItems"], **described}
    default = {} if parameter.default in (ABSENT, None, "") else {"default": parameter.default}
    return plain(schema, "enum") | default | described


def query(method: Method, route: Endpoint, shapes: Shapes) -> Schema:
    """The lexicon of one method."""
    endpoint = method.endpoint(route)
    of_one = any(parameter.place == "path" for parameter in route.signature.parameters)
    is_paged = any(parameter.name == "cursor" for parameter in endpoint.signature.parameters)
    main = {
        "type": "query",
        "description": method.about or " ".join([f"{endpoint.summary}.", *endpoint.description.split()]),
        "parameters": parameters(endpoint) if endpoint.signature.parameters else {},
        "output": {"encoding": JSON, "schema": shapes.output(method, route)},
        "errors": [NOT_FOUND] * of_one + [INVALID_CURSOR] * is_paged,
    }
    return {"lexicon": 1, "id": method.nsid, "defs": {"main": _without_empty(main)}}


def lexicons() -> dict[str, Schema]:
    """Every lexicon of the methods, by the end of its NSID."""
    shapes = Shapes()
    found = {
        method.name: query(method, route, shapes) for method, route in find_routes(all_endpoints()).items()
    }
    about = "What the query methods answer with. Members are those of the HTTP API."
    return found | {"defs": {"lexicon": 1, "id": DEFS, "description": about, "defs": _sorted(shapes.defs)}}


def text(lexicon: Schema) -> str:
    """A lexicon as its file has it."""
    return json.dumps(lexicon, indent=2, ensure_ascii=False) + "\n"


def _sorted(found: Mapping[str, Schema]) -> dict[str, Schema]:
    return dict(sorted(found.items()))


def _without_empty(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if value not in ([], {})}


def _is_nullable(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


def _def_name(model: str) -> str:
    return {"PlaylistWithTracks": "playlist"}.get(model, model[0].lower() + model[1:])


if __name__ == "__main__":
    for name, lexicon in lexicons().items():
        (FOLDER / f"{name}.json").write_text(text(lexicon))
