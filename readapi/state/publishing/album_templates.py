"""Album templates: the settings of tracks published on an album, unless the upload has its own."""

from collections.abc import Sequence

from sqlalchemy import Executable, delete, select

from readapi.state.db.database import Database
from readapi.state.db.publishing_tables import album_templates
from schemas.ids import AtUri
from schemas.publishing import Template


class AlbumTemplates:
    """One template per album at most, by the at-uri of its list record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, album: AtUri) -> Template | None:
        """The album's template, if it has one."""
        found = select(album_templates.c.template).where(album_templates.c.album_uri == str(album))
        async with self._database.reading() as connection:
            text = (await connection.execute(found)).scalar_one_or_none()
        return None if text is None else Template.model_validate_json(text)

    async def among(self, albums: Sequence[str]) -> dict[str, Template]:
        """The templates of those albums that have one, by at-uri."""
        columns = album_templates.c.album_uri, album_templates.c.template
        found = select(*columns).where(album_templates.c.album_uri.in_(albums))
        async with self._database.reading() as connection:
            rows = (await connection.execute(found)).all()
        return {uri: Template.model_validate_json(text) for uri, text in rows}

    async def put(self, album: AtUri, template: Template | None) -> None:
        """Set an album's template; None removes it."""
        async with self._database.writing() as connection:
            await connection.execute(self.putting(album, template))

    async def remove(self, album: AtUri) -> None:
        """Delete the template of a deleted album."""
        await self.put(album, None)

    def putting(self, album: AtUri, template: Template | None) -> Executable:
        """The statement that `put` executes, for use in another transaction."""
        if template is None:
            return delete(album_templates).where(album_templates.c.album_uri == str(album))
        row = {"album_uri": str(album), "template": template.model_dump_json()}
        return self._database.upsert(album_templates, row)
