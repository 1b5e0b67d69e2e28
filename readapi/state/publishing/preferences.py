"""Accounts' preferences: the Portal template, rights to attach, scrobbling, and what is shown to whom."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import select, update

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import preferences
from schemas.ids import Did
from schemas.publishing import Template
from schemas.rights import Ownership

_RIGHTS = TypeAdapter(Ownership)


@dataclass(frozen=True, slots=True)
class Preferences:
    """One account's preferences.

    `show_adult`: whether pages show it what labels say is for adults. `show_playing`: whether others see what
    it is listening to.
    """

    publishing_defaults: Template | None = None
    scrobbling: bool = False
    rights: Ownership | None = None
    show_adult: bool = False
    show_playing: bool = False


class PreferenceStore:
    """One row per account that ever set a preference."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, did: Did) -> Preferences:
        """The account's preferences."""
        async with self._database.reading() as connection:
            row = (
                await connection.execute(select(preferences).where(preferences.c.did == did))
            ).one_or_none()
        return Preferences() if row is None else _parse(row)

    async def change(self, did: Did, change: Callable[[Preferences], Preferences]) -> Preferences:
        """Change the preferences. Returns the new ones.

        Changes at once are made one after the other, each of what the one before stored. Nothing is stored
        when `change` raises.
        """
        mine = preferences.c.did == did
        first = self._database.insert(preferences).values(did=did, **_render(Preferences()))
        async with self._database.writing() as connection:
            await connection.execute(first.on_conflict_do_nothing())
            row = (await connection.execute(select(preferences).where(mine).with_for_update())).one()
            chosen = change(_parse(row))
            await connection.execute(update(preferences).where(mine).values(_render(chosen)))
        return chosen


def _parse(row: Any) -> Preferences:
    template = row.publishing_defaults and Template.model_validate_json(row.publishing_defaults)
    rights = row.rights and _RIGHTS.validate_json(row.rights)
    return Preferences(template, row.scrobbling, rights, row.show_adult, row.show_playing)


def _render(chosen: Preferences) -> dict[str, Any]:
    template, rights = chosen.publishing_defaults, chosen.rights
    return {
        "publishing_defaults": None if template is None else template.model_dump_json(),
        "scrobbling": chosen.scrobbling,
        "rights": None if rights is None else rights.model_dump_json(exclude_none=True),
        "show_adult": chosen.show_adult,
        "show_playing": chosen.show_playing,
    }
