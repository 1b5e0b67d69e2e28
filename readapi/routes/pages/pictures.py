"""Pictures of records in the sizes that pages show."""

from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field

from readapi.audio.sending import Sending
from readapi.errors import NotFound, PdsUnavailable, RangeNotSatisfiable
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.request.headers import Conditions
from readapi.http.response import headers
from readapi.index.lookups import Index
from readapi.pictures.cache import MEDIA_TYPE, Pictures
from readapi.pictures.visible import find_visible
from schemas.access import Viewer
from schemas.ids import Cid
from schemas.pictures import SIDES, Side

routes = Routes("pages")

_SIDES: dict[str, Side] = {str(side): side for side in SIDES}
PictureCid = Annotated[str, Field(max_length=100, description="CID of a picture that a record names.")]
PictureSide = Annotated[
    Literal["96", "300", "800"],
    Field(description="Pixels of the longest side; smaller ones stay as they are."),
]


@routes.get(
    "/img/{cid}/{side}.webp",
    media_types=(MEDIA_TYPE,),
    raises=(NotFound, PdsUnavailable, RangeNotSatisfiable),
)
async def picture(
    cid: PictureCid,
    side: PictureSide,
    index: Index,
    found: Pictures,
    viewer: Viewer | None,
    client: Client,
    asked: Conditions,
) -> web.StreamResponse:
    """Return the picture of a track, album, playlist or account as WebP.

    It is fetched from the account's server with the first request, which waits. Only pictures in records that
    the requester may see are.
    """
    source, is_public = await find_visible(index, found, Cid(cid), _SIDES[side], viewer, client)
    return Sending(source, asked, headers.picture_headers(is_public))
