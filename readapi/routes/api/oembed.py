"""The oEmbed endpoint, for players embedded in other sites (https://oembed.com)."""

from typing import Annotated

from pydantic import Field

from readapi.answers import JSON, XML, Answer, render_json
from readapi.errors import FormatNotSupported, NotFound
from readapi.http.endpoint import Routes
from readapi.index.lookups import Index
from readapi.pages.public import oembed
from readapi.pages.public.oembed import Box
from readapi.pages.urls import Addresses
from schemas.api.oembed import OEmbed

routes = Routes("oembed")

Url = Annotated[str, Field(description="A page or player of this service, or the at-uri of a track or list.")]
MostWidth = Annotated[int | None, Field(ge=1, description="Pixels that the player may be wide at most.")]
MostHeight = Annotated[int | None, Field(ge=1, description="Pixels that the player may be high at most.")]
Format = Annotated[str, Field(description="`json` or `xml`; any other is answered with 501.")]


@routes.get("/oembed", raises=(NotFound, FormatNotSupported), media_types=(JSON, "text/xml"))
async def get_oembed(
    url: Url,
    index: Index,
    addresses: Addresses,
    maxwidth: MostWidth = None,
    maxheight: MostHeight = None,
    format: Format = "json",
) -> Answer[OEmbed]:
    """Describe the player of a track, an album or a playlist.

    Tracks that not everybody may hear have a player too: it says why it is silent.
    """
    if format not in ("json", "xml"):
        raise FormatNotSupported("oEmbed documents exist as json and as xml.")
    document = oembed.describe_embed(
        oembed.find_embeddable(index, addresses, url), Box(maxwidth, maxheight), addresses.base_url
    )
    return Answer(oembed.render_xml(document), XML) if format == "xml" else Answer(render_json(document))
