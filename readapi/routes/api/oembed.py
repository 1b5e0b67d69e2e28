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

Url = Annotated[str, Field(description="URL of a page or player here, or at-uri of a track or list.")]
MostWidth = Annotated[int | None, Field(ge=1, description="The maximum width of the player, in pixels.")]
MostHeight = Annotated[int | None, Field(ge=1, description="The maximum height of the player, in pixels.")]
Format = Annotated[str, Field(description="`json` or `xml`; any other value gets 501.")]


@routes.get("/oembed", raises=(NotFound, FormatNotSupported), media_types=(JSON, "text/xml"))
def get_oembed(
    url: Url,
    index: Index,
    addresses: Addresses,
    maxwidth: MostWidth = None,
    maxheight: MostHeight = None,
    format: Format = "json",
) -> Answer[OEmbed]:
    """Get the oEmbed description of the player of a track, album or playlist.

    Tracks with restricted access have a player too, which shows why it cannot play.
    """
    if format not in ("json", "xml"):
        raise FormatNotSupported("The format must be json or xml.")
    members = oembed.describe_embed(
        oembed.find_embeddable(index, addresses, url), Box(maxwidth, maxheight), addresses
    )
    return Answer(oembed.render_xml(members), XML) if format == "xml" else Answer(render_json(members))
