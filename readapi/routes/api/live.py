"""The live feed of what is published."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from readapi.answers import EVENT_STREAM
from readapi.errors import BadRequest, InvalidRequest, NotFound, RateLimited
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.request.headers import LastEventId
from readapi.http.request.request import Request
from readapi.index.lookups import Index
from readapi.live.chosen import read_filter
from readapi.live.feed import Feed
from readapi.live.streams import EventStream, SocketStream, Subscription, is_chunked, is_websocket
from readapi.live.subscriber import Wanted

routes = Routes("data")

Names = Annotated[list[str], Field(max_length=100, description="May be given several times.")]
Cursor = Annotated[
    int,
    Field(
        ge=0, lt=1 << 63, description="The `time_us` of the last change received: what came after it follows."
    ),
]


@routes.get(
    "/live",
    raises=(InvalidRequest, NotFound, RateLimited),
    media_types=(EVENT_STREAM,),
    acts=True,
    endless=True,
)
async def follow_changes(
    request: Request,
    client: Client,
    feed: Feed,
    index: Index,
    last: LastEventId,
    wantedCollections: Names = [],  # noqa: B006
    wantedDids: Names = [],  # noqa: B006
    tag: Names = [],  # noqa: B006
    artist: Names = [],  # noqa: B006
    cursor: Cursor | None = None,
    cards: bool = False,
) -> web.StreamResponse:
    """Follow everything that is published, changed, hidden or deleted, as it happens.

    Server-sent events, or a WebSocket where the request asks for an upgrade. Each event is JSON as Jetstream
    writes it. A client that gives the last `time_us` that it received as `cursor` (browsers do, by
    `Last-Event-ID`) misses nothing and receives nothing twice, as long as changes are kept. docs/live.md
    describes the events.
    """
    chosen = read_filter(index, wantedCollections, wantedDids, tag, artist)
    resumed = cursor if last.position is None else last.position
    feed.require(resumed)
    wanted = Wanted(chosen, cards, is_websocket(request), is_chunked(request))
    if wanted.websocket and not web.WebSocketResponse().can_prepare(request):
        raise BadRequest
    subscription = Subscription(feed, wanted, resumed, feed.limits.enter(client))
    return SocketStream(subscription) if wanted.websocket else EventStream(subscription, {})
