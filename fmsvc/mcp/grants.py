"""Which tools that write a caller is offered: those that its token grants. The API decides at each call."""

from collections.abc import Iterable, Iterator
from urllib.parse import parse_qs, unquote

from fmsvc.mcp.api import Api, ApiError


async def granted(api: Api) -> frozenset[str]:
    """The last names of the collections that the caller may write: `like`, `track`; empty without a token."""
    if api.token is None:
        return frozenset()
    try:
        scopes = (await api.get("auth", "me")).get("scopes")
    except ApiError:
        return frozenset()
    return frozenset(_written(str(scope) for scope in scopes or ()))


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
