"""Discovery: lists the repos with records of our collections, from the relay page by page, again every day.

The stream delivers what is written from now on; discovery finds what was written before. The stream has to be
connected before the first page is requested, so that no repo falls between the two.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog
from prometheus_client import Counter

from indexer import faults
from indexer.catalog.tables.cursors import ListProgress
from indexer.network import xrpc
from indexer.network.http.client import Answered, Client, OutboundError
from schemas.backoff import Backoff
from schemas.ids import Did, Nsid, is_did

EVERYTHING: Final = "*"  # instead of a collection: the host lists all its repos, whatever they contain
AGAIN_AFTER: Final = timedelta(days=1)
LOOK_SECONDS: Final = 600.0
PAGE_REPOS: Final = 1000
PAGE_BYTES: Final = 4 << 20
PAGE_SECONDS: Final = 60.0
CURSOR_CHARACTERS: Final = 4096
BACKOFF: Final = Backoff(first_seconds=5.0, longest_seconds=900.0)

LISTED = Counter("fmsvc_repos_listed_total", "Repos that discovery has found, with repetitions.")

log = structlog.get_logger()


class Discovery:
    """Reads the repo lists of one host, the relay or a PDS, and calls `found` with every page.

    `load` and `save` store how far each list is read. A page is saved after `found` has returned, so that a
    crash repeats a page and skips none.
    """

    def __init__(
        self,
        client: Client,
        host: str,
        collections: Collection[Nsid],
        *,
        found: Callable[[list[Did]], Awaitable[None]],
        load: Callable[[], Iterable[ListProgress]],
        save: Callable[[ListProgress], Awaitable[None]],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._host = host
        self._collections = sorted(collections)
        self._found = found
        self._save = save
        self._now = now
        self._listings = {listing.collection: listing for listing in load() if listing.source == host}
        self._renewed = asyncio.Event()
        self.listed = 0

    @property
    def reading(self) -> str | None:
        """The collection whose list is being read; None when all lists are read."""
        return next((listing.collection for listing in self._due()), None)

    async def run(self) -> None:
        """Read the lists that are due, and read them again every day, until cancelled."""
        failures = 0
        while True:
            self._renewed.clear()
            try:
                await self.read()
                failures, pause = 0, LOOK_SECONDS
            except OutboundError as error:
                failures += 1
                pause = _pause(error, failures)
                log.warning("discovery failed", host=self._host, reason=str(error), retry_in=round(pause))
            except BaseException as error:
                if faults.is_fatal(error):
                    raise
                faults.record_fault("discovery", error)
                failures, pause = failures + 1, BACKOFF.longest_seconds
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._renewed.wait()

    def renew(self) -> list[ListProgress]:
        """Read every list from its beginning, now. Returns the listings to be saved for that."""
        names = self._listings.keys() | set(self._collections)
        self._listings = {name: ListProgress(self._host, name) for name in names}
        self._renewed.set()
        return list(self._listings.values())

    async def read(self) -> None:
        """Read every list that is due to its end. Raises OutboundError; pages read before that are saved."""
        for listing in self._due():
            try:
                await self._read(listing)
            except Answered as refusal:
                if not _has_no_such_list(refusal) or not await self._is_pds():
                    raise
                await self._read(self._listing(EVERYTHING))
                return

    async def _is_pds(self) -> bool:
        """True when the host is a PDS. A relay's list of all repos would be the whole network's."""
        method = "com.atproto.server.describeServer"
        try:
            answer = await xrpc.run_query(self._client, self._host, method, PAGE_BYTES, PAGE_SECONDS)
        except Answered:
            return False
        return isinstance(answer.get("availableUserDomains"), list)

    def _due(self) -> list[ListProgress]:
        now = self._now()
        # A host without lists by collection is asked for them again after a day, in case it was updated.
        if (everything := self._listings.get(EVERYTHING)) and not _is_due(everything, now):
            return []
        return [listing for name in self._collections if _is_due(listing := self._listing(name), now)]

    def _listing(self, collection: str) -> ListProgress:
        return self._listings.get(collection, ListProgress(self._host, collection))

    async def _read(self, listing: ListProgress) -> None:
        log.info("discovery reads", host=self._host, collection=listing.collection, cursor=listing.cursor)
        name, listing = listing.collection, replace(listing, finished_at=None)
        self._listings[name] = listing
        while listing.finished_at is None and self._listings.get(name) is listing:
            listing = await self._page(listing)

    async def _page(self, listing: ListProgress) -> ListProgress:
        """Read one page. Returns how far the list is read then, unless it was renewed meanwhile."""
        answer = await self._ask(listing)
        dids = list(dict.fromkeys(_dids(answer)))
        await self._found(dids)
        self.listed += len(dids)
        LISTED.inc(len(dids))
        cursor = answer.get("cursor")
        goes_on = isinstance(cursor, str) and 0 < len(cursor) <= CURSOR_CHARACTERS
        if goes_on and cursor != listing.cursor:
            read = replace(listing, cursor=cursor)
        else:
            read = replace(listing, cursor=None, finished_at=self._now())
        if self._listings[listing.collection] is listing:
            self._listings[listing.collection] = read
            await self._save(read)
        return read

    async def _ask(self, listing: ListProgress) -> dict[str, Any]:
        method, params = "com.atproto.sync.listRepos", {"limit": str(PAGE_REPOS)}
        if listing.collection != EVERYTHING:
            method, params["collection"] = f"{method}ByCollection", listing.collection
        if listing.cursor is not None:
            params["cursor"] = listing.cursor
        try:
            return await xrpc.run_query(self._client, self._host, method, PAGE_BYTES, PAGE_SECONDS, **params)
        except Answered as refusal:
            if refusal.status != 400 or listing.cursor is None:
                raise
            # A host may refuse a cursor that it gave before: begin the list again.
            return await self._ask(replace(listing, cursor=None))


def _has_no_such_list(refusal: Answered) -> bool:
    """True when the host lacks the method: a PDS forwards unknown methods, and may answer 400."""
    return refusal.status == 400 or xrpc.is_lacking(refusal)


def _is_due(listing: ListProgress, now: datetime) -> bool:
    """True when the list is partly read, or was read to its end more than a day ago."""
    return listing.finished_at is None or now - listing.finished_at >= AGAIN_AFTER


def _dids(answer: dict[str, Any]) -> Iterable[Did]:
    repos = answer.get("repos")
    for repo in repos if isinstance(repos, list) else ():
        did = repo.get("did") if isinstance(repo, dict) else None
        if isinstance(did, str) and is_did(did) and repo.get("status") != "deleted":
            yield Did(did)


def _pause(error: OutboundError, failures: int) -> float:
    """Seconds until the next attempt: the host's Retry-After, else doubled with each failure."""
    asked = error.retry_after if isinstance(error, Answered) else None
    if asked is not None:
        return min(max(asked, 1.0), BACKOFF.longest_seconds)
    return BACKOFF.pause(failures)
