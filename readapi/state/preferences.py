"""What people chose for themselves: the Portal template, rights to attach, scrobbling."""

from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy import select

from readapi.state.database import Database
from readapi.state.publishing_tables import preferences
from schemas.ids import Did
from schemas.publishing import Template
from schemas.rights import Rights

_RIGHTS = TypeAdapter(Rights)


@dataclass(frozen=True, slots=True)
class Preferences:
    """Of somebody who chose nothing: no template, no scrobbling, no rights."""

    publishing_defaults: Template | None = None
    scrobbling: bool = False
    rights: Rights | None = None


class PreferenceStore:
    """One row per account that ever chose anything."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, did: Did) -> Preferences:
        """What this account chose."""
        async with self._database.reading() as connection:
            row = (
                await connection.execute(select(preferences).where(preferences.c.did == did))
            ).one_or_none()
        if row is None:
            return Preferences()
        template = row.publishing_defaults and Template.model_validate_json(row.publishing_defaults)
        return Preferences(template, row.scrobbling, row.rights and _RIGHTS.validate_json(row.rights))

    async def put(self, did: Did, chosen: Preferences) -> None:
        """Keep it whole, in place of what was chosen before."""
        template, rights = chosen.publishing_defaults, chosen.rights
        row = {
            "did": did,
            "publishing_defaults": None if template is None else template.model_dump_json(),
            "scrobbling": chosen.scrobbling,
            "rights": None if rights is None else rights.model_dump_json(exclude_none=True),
        }
        async with self._database.writing() as connection:
            await connection.execute(self._database.upsert(preferences, row))
