"""Who supports which artist: asked of the operator's verifier service, and cached for a minute."""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Collection
from urllib.parse import urlencode

import orjson
import structlog

from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from schemas.access import Viewer
from schemas.ids import Did
from schemas.recent import Recent
from schemas.stored import Card

log = structlog.get_logger()

LIFE_SECONDS = 60.0
MOST_REMEMBERED = 10_000
TIMEOUT_SECONDS = 3.0
_MOST_BYTES = 4 << 10

Question = tuple[Did, Did]  # artist, viewer


class Supporters:
    """Fails closed: without an answer from the verifier, a viewer counts as no supporter.

    `verifier`: GET ?artist=DID&viewer=DID answers `{"supports": bool}`. None: there is no verifier.
    """

    def __init__(
        self,
        network: Network,
        verifier: str | None,
        clock: Callable[[], float] = time.monotonic,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._network = network
        self._verifier = verifier
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._answers: Recent[Question, tuple[bool, float]] = Recent(MOST_REMEMBERED)
        self._under_way: dict[Question, asyncio.Task[bool]] = {}

    @property
    def available(self) -> bool:
        """Is a verifier configured?"""
        return self._verifier is not None

    async def of(self, viewer: Viewer | None, artists: Collection[Did]) -> Viewer | None:
        """The viewer, with those of these artists whom they support filled in."""
        if viewer is None or self._verifier is None:
            return viewer
        others = sorted(set(artists) - {viewer.did})
        supports = await asyncio.gather(*(self._supports((artist, viewer.did)) for artist in others))
        supported = {artist for artist, does in zip(others, supports, strict=True) if does}
        return dataclasses.replace(viewer, supported=viewer.supported | supported)

    async def among(self, viewer: Viewer | None, tracks: Collection[Card]) -> Viewer | None:
        """The same for the artists of these tracks; asks only where support changes the access."""
        if viewer is None:
            return None
        return await self.of(viewer, {track.did for track in tracks if b"supporters" in track.policy})

    async def _supports(self, question: Question) -> bool:
        remembered = self._answers.find(question)
        if remembered is not None and remembered[1] > self._clock():
            return remembered[0]
        asking = self._under_way.get(question)
        if asking is None:
            asking = self._under_way[question] = asyncio.create_task(self._asked(question))
            asking.add_done_callback(lambda _: self._under_way.pop(question))
        return await asyncio.shield(asking)

    async def _asked(self, question: Question) -> bool:
        try:
            supports = await self._ask(question)
        except (Unavailable, ValueError, TimeoutError) as error:
            log.warning("supporters cannot be asked about", error=str(error)[:200])
            supports = False
        self._answers.keep(question, (supports, self._clock() + LIFE_SECONDS))
        return supports

    async def _ask(self, question: Question) -> bool:
        artist, viewer = question
        asked = urlencode({"artist": artist, "viewer": viewer})
        glue = "&" if "?" in str(self._verifier) else "?"
        response = await self._network.ask_operator(
            f"{self._verifier}{glue}{asked}",
            headers={"Accept": "application/json"},
            max_bytes=_MOST_BYTES,
            timeout_seconds=self._timeout_seconds,
        )
        if response.status != 200:
            raise ValueError(f"the verifier answered {response.status}")
        answer = orjson.loads(response.body)
        return isinstance(answer, dict) and answer.get("supports") is True
