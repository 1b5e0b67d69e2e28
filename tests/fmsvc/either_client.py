"""One interface to both kinds of client, so that a test written once runs with either."""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

from fmsvc import AsyncClient, Client


class EitherClient:
    """Every method is awaited, every iterator is a list. `called`: names of methods and their namespace."""

    def __init__(self, made: Any, called: set[str] | None = None, path: str = "") -> None:
        self.called: set[str] = set() if called is None else called
        self._made = made
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found, path = getattr(self._made, name), self._path + name
        if not callable(found):
            return EitherClient(found, self.called, f"{path}.")

        async def call(*given: Any, **named: Any) -> Any:
            self.called.add(path)
            if "_async" in type(self._made).__module__:
                result = found(*given, **named)
                if inspect.isawaitable(result):
                    return await result
                async with aclosing(result) as items:
                    return [item async for item in items]
            result = await asyncio.to_thread(found, *given, **named)
            return await asyncio.to_thread(list, result) if isinstance(result, Iterator) else result

        return call


def public_methods(client: Client | AsyncClient) -> set[str]:
    """The names of a client's methods, as EitherClient records them."""
    found = set()
    for name, value in inspect.getmembers(client):
        if name.startswith("_"):
            continue
        if callable(value):
            found.add(name)
        else:
            methods = inspect.getmembers(value, callable)
            found |= {f"{name}.{method}" for method, _ in methods if not method.startswith("_")}
    return found
