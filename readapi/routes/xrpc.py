"""XRPC query methods (https://atproto.com/specs/xrpc): each gives the answers of one route of the JSON API.

Their lexicons in `lexicons/` are written by `docs/query_lexicons.py`, from this table and the routes.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args, get_origin

import orjson

from readapi.answers import Answer
from readapi.http.binding import Signature
from readapi.http.endpoint import Endpoint, Handler
from readapi.http.response.xrpc import PREFIX
from schemas.api.search import FoundTracks
from schemas.api.shape import Page
from schemas.collections import Collections

_OF_FLOATS = ("relevance",)  # members of results: numbers that atproto's data model does not have


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A query method, and the path of the route that answers it.

    `names`: parameters that have another name here, by the route's name. `given`: arguments that the method
    determines. `member`: of the answer's object, where the route answers with a list. `answers` and `about`:
    the shape of the answer and the description, where they are narrower than the route's.
    """

    name: str
    path: str
    names: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)
    member: str | None = None
    answers: Any = None
    about: str | None = None

    @property
    def nsid(self) -> str:
        return f"{Collections().namespace}.{self.name}"

    def endpoint(self, route: Endpoint) -> Endpoint:
        """The endpoint of the method: the route's, at another path."""
        return replace(
            route,
            path=PREFIX + self.nsid,
            function=self._function(route),
            signature=self._signature(route.signature),
            described=False,
            by_accept=False,
        )

    def shape(self, route: Endpoint) -> Any:
        """The shape of the route's answers to the method."""
        returns = route.signature.returns
        return self.answers or (get_args(returns)[0] if get_origin(returns) is Answer else returns)

    def _signature(self, signature: Signature) -> Signature:
        parameters = tuple(
            replace(parameter, name=self.names.get(parameter.name, parameter.name), place="query")
            for parameter in signature.parameters
            if parameter.name not in self.given
        )
        return replace(signature, parameters=parameters)

    def _function(self, route: Endpoint) -> Handler:
        function, given, render = route.function, self.given, self._renderer(route)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wait(**arguments: Any) -> Any:
                return render(await function(**arguments, **given))

            return wait

        @functools.wraps(function)
        def answer(**arguments: Any) -> Any:
            return render(function(**arguments, **given))

        return answer

    def _renderer(self, route: Endpoint) -> Callable[[Any], Any]:
        shape, member = self.shape(route), self.member
        if member is not None:
            before = b'{"%b":' % member.encode()
            return lambda made: made._replace(body=before + made.body + b"}")
        if isinstance(shape, type) and issubclass(shape, Page):
            return lambda made: made._replace(body=_page(made.body))
        return lambda made: made


TRACK = {"track_id": "track"}
ARTIST = {"artist_did": "artist"}
METHODS = (
    Method("getTrack", "/tracks/{track_id}", TRACK),
    Method("getTracks", "/tracks/", ARTIST),
    Method(
        "searchTracks",
        "/search/",
        ARTIST,
        given={"type": ("tracks",), "explain": False},
        answers=FoundTracks,
        about="Search tracks by name, words and prefixes, with typo tolerance. Unlisted tracks are included, "
        "private ones never. `counts` are the totals of every type.",
    ),
    Method("getTopTracks", "/tracks/top", member="tracks"),
    Method("getArtist", "/artists/{artist}"),
    Method("getAlbum", "/albums/by-id/{album_id}", {"album_id": "album"}),
    Method("getPlaylist", "/lists/playlists/{playlist_id}", {"playlist_id": "playlist"}),
    Method("getLikes", "/tracks/{track_id}/likes", TRACK),
    Method("getComments", "/tracks/{track_id}/comments", TRACK),
    Method("getStats", "/stats"),
    Method("listTags", "/tracks/tags", member="tags"),
)


def find_routes(endpoints: Iterable[Endpoint]) -> dict[Method, Endpoint]:
    """The route behind each method."""
    reads = {
        endpoint.path: endpoint
        for endpoint in endpoints
        if endpoint.method == "GET" and not endpoint.is_page_beside_json
    }
    return {method: reads[method.path] for method in METHODS}


def query_endpoints(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """The endpoints of all methods."""
    return [method.endpoint(route) for method, route in find_routes(endpoints).items()]


def _page(body: bytes) -> bytes:
    """A page with `cursor`, which is absent on the last one."""
    page = orjson.loads(body)
    following = page.pop("next_cursor")
    del page["has_more"]
    for result in page.get("results", ()):
        for name in _OF_FLOATS:
            del result[name]
    if following is not None:
        page["cursor"] = following
    return orjson.dumps(page)
