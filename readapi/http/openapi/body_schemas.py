"""Request shapes → their schemas as JSON and as multipart forms. Pure."""

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from readapi.answers import JSON
from readapi.http.request import encodings
from readapi.http.request.encodings import PARTS
from schemas.api.shape import Asked, AskedWithFile

Schema = dict[str, Any]
_SUFFIX = "InParts"  # of a shape's name, where it is described both as JSON and as a form


def described_kinds(asked: type[Asked]) -> tuple[str, ...]:
    """The media types that the description lists: JSON, and multipart where the shape has files.

    Routes accept other forms as well, but client generators cannot tell two encodings of one shape apart.
    """
    if issubclass(asked, AskedWithFile):
        return (PARTS,)
    return (JSON, PARTS) if encodings.file_members(asked) else (JSON,)


def schema_name(asked: type[Asked], kind: str) -> str:
    """The name of the schema of a shape in one encoding."""
    apart = kind == PARTS and not issubclass(asked, AskedWithFile)
    return asked.__name__ + _SUFFIX if apart else asked.__name__


def make_schemas(asked: type[Asked], kinds: Iterable[str], template: str) -> dict[str, Schema]:
    """The schema of a shape in each of these encodings, by its name, and every schema that they refer to."""
    schema = TypeAdapter(asked).json_schema(ref_template=template)
    found: dict[str, Schema] = schema.pop("$defs", {})
    for kind in kinds:
        found[schema_name(asked, kind)] = (_as_parts if kind == PARTS else _as_json)(asked, schema)
    return found


def _as_json(asked: type[Asked], schema: Schema) -> Schema:
    """The JSON schema, without the members that are files."""
    carried = {
        name: member
        for name, member in schema.get("properties", {}).items()
        if name not in encodings.file_members(asked)
    }
    return {**schema, "properties": carried}


def _as_parts(asked: type[Asked], schema: Schema) -> Schema:
    """The multipart schema: no part is null, and a list is repeated parts or one part of JSON."""
    lists = encodings.list_members(asked)
    members = {
        name: _as_list(_not_null(member)) if name in lists else _not_null(member)
        for name, member in schema.get("properties", {}).items()
    }
    return {**schema, "title": schema_name(asked, PARTS), "properties": members}


def _not_null(member: Schema) -> Schema:
    choices = [choice for choice in member.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return member
    rest = {name: value for name, value in member.items() if name not in ("anyOf", "default")}
    return {**rest, **choices[0]}


def _as_list(member: Schema) -> Schema:
    shared: Schema = {name: member.pop(name) for name in ("title", "description") if name in member}
    as_json = {"type": "string", "contentMediaType": JSON, "description": "One part with the JSON of all."}
    repeated = {**member, "description": "One part for each."}
    return {**shared, "anyOf": [repeated, as_json]}
