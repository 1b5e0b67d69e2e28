"""Profiles: how an artist presents themselves."""

from collections.abc import Mapping

from readapi import times
from readapi.pds import Author, Record, Value
from readapi.writing import Writing
from schemas.ids import Rkey

RKEY = Rkey("self")


async def put(writing: Writing, author: Author, chosen: Mapping[str, str | None]) -> Record:
    """Write the fields that were chosen, by the names that records give them; without a text they go."""
    collection, now = writing.collections.profile, times.render(times.now())

    def change(found: Value) -> Value:
        changed = {**found, **chosen, "updatedAt": now}
        return {name: value for name, value in changed.items() if value not in (None, "")}

    new = {"$type": collection, "createdAt": now}
    return await writing.edit(author, collection, RKEY, change, absent=new)
