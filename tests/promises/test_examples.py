"""The examples of the description are asked of a service in use, and answered as they say."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator

from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.http.openapi.examples import names
from readapi.http.openapi.examples.operations import EXAMPLES, FILE, Example
from readapi.processes.app import all_endpoints
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
from tests.promises.everything import Owner, owner_of_everything
from tests.readapi.music import Reply
from tests.readapi.studio import Studio, open_studio

ENDPOINTS = {endpoint.function.__name__: endpoint for endpoint in api_endpoints(all_endpoints())}
DOCUMENT = orjson.loads(describe_api(ENDPOINTS.values(), names.BASE))
OPERATIONS = {
    operation["operationId"]: operation for path in DOCUMENT["paths"].values() for operation in path.values()
}
LAST = ("drop_account", "logout")  # the session ends with them
TRIES = 50


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_an_example_that_fits_its_schemas(name: str) -> None:
    """Of each body, of each parameter that must be given, and of each answer that is JSON."""
    operation = OPERATIONS[name]

    for parameter in operation["parameters"]:
        if parameter["required"] or "example" in parameter:
            check(parameter["schema"], parameter["example"])
    for content in operation.get("requestBody", {}).get("content", {}).values():
        check(content["schema"], content["example"])
    for media_type, content in answered(name).items():
        if media_type == "application/json":
            check(content["schema"], content["example"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def own_studio(network: Network, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Studio]:
    """The whole service."""
    async with Testnet.connect(network) as net, open_studio(net, tmp_path_factory.mktemp("studio")) as opened:
        yield opened


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
async def test_every_example_is_answered_as_it_says(own_studio: Studio) -> None:
    """With the names of what somebody really has in the place of those of the examples."""
    owner = await owner_of_everything(own_studio)
    wrong = {}
    for name in sorted((name for name in EXAMPLES if not ENDPOINTS[name].endless), key=order):
        example = await in_truth(own_studio, owner, name)
        if (fault := await fault_of(name, owner, example)) is not None:
            wrong[name] = fault

    assert wrong == {}


def order(name: str) -> tuple[int, int]:
    """Questions first, then changes, then what takes something away."""
    method = ENDPOINTS[name].method
    return (
        LAST.index(name) + 1 if name in LAST else 0,
        ("GET", "POST", "PATCH", "PUT", "DELETE").index(method),
    )


def _of_the_same_kinds(told: Any, found: Any) -> Any:
    """A search's answer without kinds that the example has not: others on this network have albums too."""
    kinds = {one["type"] for one in told["results"]}
    return {**found, "results": [one for one in found["results"] if one["type"] in kinds]}


def difference(name: str, told: Any, reply: Reply) -> str | None:
    """What is not as the example says; None when nothing is."""
    endpoint = ENDPOINTS[name]
    status = 204 if "204" in OPERATIONS[name]["responses"] and not answered(name) else int(endpoint.status)
    if reply.status != status:
        return f"{reply.status} {reply.json}"
    if not isinstance(told, dict | list) or name == "openapi":
        return None
    check(answered(name)["application/json"]["schema"], reply.json)
    found = _of_the_same_kinds(told, reply.json) if name == "search" else reply.json
    missing = members(told) ^ members(found)
    return f"members of one only: {sorted(missing)}" if missing else None


def members(value: Any, place: str = "") -> set[str]:
    """The names of all members, each with where it is; lists hold something in both or neither."""
    if isinstance(value, dict):
        found = {f"{place}.{name}" for name in value}
        return found.union(*(members(part, f"{place}.{name}") for name, part in value.items()))
    if isinstance(value, list):
        return {f"{place}[]"}.union(*(members(part, f"{place}[]") for part in value)) if value else set()
    return set()


def answered(name: str) -> Mapping[str, Any]:
    """The contents of an operation's good answer, by media type."""
    responses = OPERATIONS[name]["responses"]
    return dict(responses.get(str(int(ENDPOINTS[name].status)), {}).get("content", {}))


def check(schema: dict[str, Any], value: Any) -> None:
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    assert [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(value)] == []


async def in_truth(studio: Studio, owner: Owner, name: str) -> Example:
    """The example with real names."""
    example, real = EXAMPLES[name], truth(studio, owner)
    if name in ("callback", "exchange"):
        person = Person(owner.artist.account)
        page = await studio.door.start(person)
        if name == "callback":
            back = await person.agree(page)
            real |= {names.STATE: back["state"], names.CODE: back["code"], names.PDS: back["iss"]}
        else:
            real[names.EXCHANGE_TOKEN] = await studio.door.arrive(person, page)
    text = orjson.dumps([example.asked, example.sent]).decode()
    for told in sorted(real, key=len, reverse=True):
        text = text.replace(told, real[told])
    asked, sent = orjson.loads(text)
    return Example(example.answer, sent, asked)


def truth(studio: Studio, owner: Owner) -> dict[str, str]:
    """What stands for what."""
    real = owner.names
    return {
        names.BASE: studio.door.address,
        names.TRACK_URI: real["track_uri"],
        names.TRACK_CID: real["track_cid"],
        names.PLAYLIST_URI: real["playlist_uri"],
        names.DID: owner.artist.did,
        names.OTHER_DID: real["did"],
        names.HANDLE: owner.artist.account.handle,
        names.OTHER_HANDLE: real["other_handle"],
        str(names.TRACK_ID): str(real["track_id"]),
        names.FILE_ID: real["file_id"],
        names.ALBUM_ID: real["album_id"],
        names.PLAYLIST_ID: real["playlist_id"],
        str(names.COMMENT_ID): str(real["comment_id"]),
        names.UPLOAD_ID: real["upload_id"],
        names.JOB_ID: real["job_id"],
        names.TOKEN_ID: real["token_id"],
        names.WEBHOOK_ID: real["webhook_id"],
        names.EXPORT: real["export"],
        f'"revision_id":{names.REVISION_ID}': f'"revision_id":{real["revision_id"]}',
    }


async def fault_of(name: str, owner: Owner, example: Example) -> str | None:
    """What is wrong with the answer. What is not known at once, as the size of a picture, is waited for."""
    for _ in range(1 if ENDPOINTS[name].method != "GET" or ENDPOINTS[name].acts else TRIES):
        fault = difference(name, example.answer, await ask(owner, name, example))
        if fault is None:
            break
        await asyncio.sleep(0.2)
    return fault


async def ask(owner: Owner, name: str, example: Example) -> Reply:
    method, place = ENDPOINTS[name].method, address(ENDPOINTS[name].documented_path, example.asked)
    if example.sent is not None and FILE in example.sent.values():
        return await owner.artist.send(method, place, **parts(owner, example.sent))
    # Whoever sends a session along signs in anew with it, and that ends it.
    session = None if name == "exchange" else owner.artist.session
    return await owner.artist.door.ask(method, place, example.sent, session, Accept="application/json")


def address(path: str, asked: Mapping[str, Any]) -> str:
    """The path with what stands in it, and the rest as its query."""
    query = []
    for name, value in asked.items():
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        else:
            query += [(name, str(one)) for one in (value if isinstance(value, list) else [value])]
    return f"{path}?{urlencode(query)}" if query else path


def parts(owner: Owner, sent: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The same as a form: files, texts, and lists as their JSON."""
    return {
        name: owner.names[name] if value == FILE else value if isinstance(value, str) else json.dumps(value)
        for name, value in sent.items()
    }
