"""Which tools that write a caller is offered: those that its token grants. The API decides at each call."""

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qs, unquote

from fmsvc.answers import parse_object
from fmsvc.errors import FmsvcError
from fmsvc.mcp.caller import CallerApi


async def granted(caller: CallerApi) -> frozenset[str]:
    """The last names of the collections that the caller may write: `like`, `track`; empty without a token."""
    if not caller.has_token:
        return frozenset()
    try:
        scopes = parse_object(await caller.http.ask("GET", "auth", "me")).get("scopes")
    except FmsvcError:
        return frozenset()
    return frozenset(_written(str(scope) for scope in (scopes if isinstance(scopes, list) else ())))


def may_write(names: Iterable[str], collection: str) -> bool:
    """Whether these names allow writing a collection. `*` stands for all."""
    return not {"*", collection}.isdisjoint(names)


def _written(scopes: Iterable[str]) -> Iterator[str]:
    """As https://atproto.com/specs/permission writes them: `repo:fm.svc.like?action=create`.

    A permission set is read as everything: what is in it, the client does not know.
    """
    for scope in scopes:
        if scope == "transition:generic" or scope.startswith("include:"):
            yield "*"
        before, _, query = scope.partition("?")
        resource, colon, main = before.partition(":")
        given = parse_qs(query)
        if resource == "repo" and "create" in given.get("action", ["create"]):
            for collection in [unquote(main)] if colon else given.get("collection", ()):
                yield collection.rpartition(".")[2]
