"""Where tracks in private Spaces are, by their public ids. Of the tracks themselves nothing is kept."""

from sqlalchemy import delete, exists, select

from readapi.state.database import Database
from readapi.state.tables import space_tracks
from schemas import spaces
from schemas.ids import AtUri, Did, record_id
from schemas.spaces import InSpace


class SpaceTracks:
    """Those that were put there from here: nobody else tells us of theirs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, track: InSpace) -> None:
        """Remember where one is. Harmless to repeat."""
        row = {"id": record_id(str(track)), "did": track.did, "uri": str(track)}
        async with self._database.writing() as connection:
            await connection.execute(self._database.upsert(space_tracks, row))

    async def find(self, track_id: int) -> AtUri | None:
        """The track with an id, as far as this service knows."""
        found = select(space_tracks.c.uri).where(space_tracks.c.id == track_id)
        async with self._database.reading() as connection:
            uri = (await connection.execute(found)).scalar_one_or_none()
        return None if uri is None else spaces.parse(uri)

    async def any_of(self, did: Did) -> bool:
        """Has somebody put any there?"""
        having = exists().where(space_tracks.c.did == did)
        async with self._database.reading() as connection:
            return bool((await connection.execute(select(having))).scalar_one())

    async def remove(self, track: InSpace) -> None:
        """Forget one."""
        async with self._database.writing() as connection:
            await connection.execute(delete(space_tracks).where(space_tracks.c.uri == str(track)))
