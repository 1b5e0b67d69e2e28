"""The published lexicons are valid, and the models and routes say exactly the same, both ways."""

import runpy
from collections.abc import Iterable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import pytest
from atproto_lexicon.parser import lexicon_parse
from pydantic.fields import FieldInfo

import lexicons
from indexer.catalog import projections
from schemas.collections import Collections
from schemas.fields import Accepts, Format, Items, Shape, StrongRef, Text
from schemas.records import SelfLabels

Lexicon = dict[str, Any]

FOLDER = Path(lexicons.__file__).parent
NAMESPACE = Collections("fm.svc")
MODELS: dict[str, type[Shape]] = {
    nsid.removeprefix(f"{NAMESPACE.namespace}."): projection.model
    for nsid, projection in projections.projections_of(NAMESPACE).items()
}
ELSEWHERE = {StrongRef: "com.atproto.repo.strongRef", SelfLabels: "com.atproto.label.defs#selfLabels"}
NOT_RULES = ("description", "knownValues")
GENERATOR: dict[str, Any] = runpy.run_path(str(FOLDER.parent / "docs" / "query_lexicons.py"))
QUERIES: dict[str, Lexicon] = GENERATOR["lexicons"]()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_what_its_lexicon_says(name: str) -> None:
    """Fields, required fields, types, limits, enums: nothing more, nothing less, on either side."""
    lexicon = lexicons.read(name)

    published = _inlined(lexicon["defs"]["main"]["record"], lexicon["defs"])

    assert _described(MODELS[name]) == published


@pytest.mark.parametrize("name", [*MODELS, *QUERIES, "authFullApp"])
def test_a_lexicon_is_valid_and_named_after_its_file(name: str) -> None:
    """The network's own parser reads it."""
    lexicon = lexicons.read(name)

    assert lexicon_parse(lexicon).lexicon == 1
    assert lexicon["id"] == f"fm.svc.{name}"


def test_there_is_a_lexicon_for_every_collection() -> None:
    """And for every query method; none besides, but the permission set and the type of private Spaces."""
    files = {".".join(path.relative_to(FOLDER).with_suffix("").parts) for path in FOLDER.rglob("*.json")}

    assert files == {*MODELS, *QUERIES, "authFullApp", "privateTracks"}
    assert {f"fm.svc.{name}" for name in MODELS} >= NAMESPACE.all


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_method_has_the_lexicon_of_its_route(name: str) -> None:
    """Parameters, limits, defaults, answers and errors; each parameter says what it means."""
    published = FOLDER.joinpath(f"{name}.json").read_text()
    parameters = QUERIES[name]["defs"].get("main", {}).get("parameters", {}).get("properties", {})

    assert published == GENERATOR["text"](QUERIES[name]), "run make lexicons"
    assert all(parameter["description"] for parameter in parameters.values())


def test_answers_refer_to_every_definition_that_is_published() -> None:
    """And to no other."""
    nodes = [node for lexicon in QUERIES.values() for _, node in _nodes(lexicon["defs"], "")]
    nodes += [
        node["schema"]
        for node in (lexicon["defs"]["main"]["output"] for name, lexicon in QUERIES.items() if name != "defs")
    ]

    used = {node["ref"] for node in nodes if node["type"] == "ref"}

    assert {f"fm.svc.defs#{name}" for name in QUERIES["defs"]["defs"]} == used


def test_the_permission_set_covers_every_collection() -> None:
    """One grant lets an application write all record types, and nothing else."""
    main = lexicons.read("authFullApp")["defs"]["main"]

    (permission,) = main["permissions"]
    assert main["type"] == "permission-set"
    assert permission["resource"] == "repo"
    assert permission["action"] == ["create", "update", "delete"]
    assert set(permission["collection"]) == Collections("fm.svc").all


def test_private_spaces_are_for_tracks() -> None:
    """Their type is declared as proposal 0016 has it, which the network's own parser does not know yet."""
    lexicon = lexicons.read("privateTracks")

    main = lexicon["defs"]["main"]
    assert lexicon["id"] == Collections("fm.svc").space
    assert main["type"] == "space"
    assert main["collections"] == [Collections("fm.svc").track]


@pytest.mark.parametrize("name", MODELS)
def test_every_field_says_what_it_means(name: str) -> None:
    """Strangers read lexicons before they read our code."""
    silent = [path for path, node in _nodes(lexicons.read(name)["defs"], "") if not node.get("description")]

    assert silent == []


@pytest.mark.parametrize("name", MODELS)
def test_no_definition_is_left_unused(name: str) -> None:
    """Whatever a lexicon defines, its record uses."""
    defs = lexicons.read(name)["defs"]

    used = {node["ref"] for _, node in _nodes(defs, "") if node["type"] == "ref"}

    assert {f"#{definition}" for definition in defs if definition != "main"} == {
        ref for ref in used if ref.startswith("#")
    }


def _nodes(node: Any, path: str) -> Iterable[tuple[str, Lexicon]]:
    """Every typed part of a lexicon, but the record's own object, which the record describes."""
    for step, part in node.items():
        if isinstance(part, dict):
            if isinstance(part.get("type"), str) and step != "record":
                yield f"{path}/{step}", part
            yield from _nodes(part, f"{path}/{step}")


def _inlined(node: Lexicon, defs: Lexicon) -> Lexicon:
    """The rules of a part of a lexicon, with its own definitions put where they are used."""
    if node["type"] == "ref" and node["ref"].startswith("#"):
        return _inlined(defs[node["ref"].removeprefix("#")], defs)
    rules = {name: rule for name, rule in node.items() if name not in NOT_RULES}
    if "properties" in rules:
        rules["properties"] = {name: _inlined(part, defs) for name, part in node["properties"].items()}
        rules["required"] = set(node.get("required", ()))
    if "items" in rules:
        rules["items"] = _inlined(node["items"], defs)
    return rules


def _described(model: type[Shape]) -> Lexicon:
    """A model in the words of a lexicon."""
    fields = model.model_fields
    return {
        "type": "object",
        "required": {field.alias for field in fields.values() if field.is_required()},
        "properties": {field.alias: _part(field.annotation, field.metadata) for field in fields.values()},
    }


def _part(annotation: Any, metadata: Iterable[Any] = ()) -> Lexicon:
    """A field's type in the words of a lexicon."""
    if get_origin(annotation) is Annotated:
        annotation, *inner = get_args(annotation)
        return _part(annotation, [*inner, *metadata])
    if get_origin(annotation) in (Union, UnionType):
        return _part(get_args(annotation)[0], metadata)
    described = _plain(annotation)
    for rule in metadata:
        for single in rule.metadata if isinstance(rule, FieldInfo) else [rule]:
            described |= _rules(single)
    return described


def _plain(annotation: Any) -> Lexicon:
    origin = get_origin(annotation)
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(annotation))}
    if origin is tuple:
        return {"type": "array", "items": _part(get_args(annotation)[0])}
    if annotation in ELSEWHERE:
        return {"type": "ref", "ref": ELSEWHERE[annotation]}
    if annotation.__name__ == "Blob":
        return {"type": "blob"}
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return _described(annotation)
    if annotation.__name__ == "datetime":
        return {"type": "string", "format": "datetime"}
    return {"type": "integer" if annotation is int else "string"}


def _rules(rule: Any) -> Lexicon:
    match rule:
        case Text():
            limits = {
                "maxLength": rule.max_bytes,
                "maxGraphemes": rule.max_graphemes,
                "minLength": rule.min_bytes,
            }
            return {name: limit for name, limit in limits.items() if limit}
        case Items():
            return {"maxLength": rule.max_length}
        case Format():
            return {"format": rule.name}
        case Accepts():
            return {"accept": [f"{rule.family}/*", *rule.besides], "maxSize": rule.max_bytes}
        case annotated_types.Ge():
            return {"minimum": rule.ge}
        case annotated_types.Le():
            return {"maximum": rule.le}
        case _:
            return {}
