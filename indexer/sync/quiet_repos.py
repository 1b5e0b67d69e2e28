"""Compares a repo with its PDS a minute after its last commit, to find a last commit that the relay lost.

A lost commit is noticed with the next one of its repo, which does not chain. The last commit of a repo has no
next one: without this comparison it would be missing until the daily audit.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from indexer.sync.audit import Audited
from schemas.ids import Did

QUIET_SECONDS: Final = 60.0  # from a repo's last commit until it is compared
REST_SECONDS: Final = 600.0  # from one comparison of a repo to the next
LOOK_SECONDS: Final = 5.0
AT_A_LOOK: Final = 50  # repos: 600 a minute
AT_A_HOST: Final = 5  # of those: 60 a minute
MOST: Final = 50_000  # repos that wait; any more are left to the daily audit


class QuietRepos:
    """`ours` gives our state of a repo, None when it is not active; `check` compares repos with servers."""

    def __init__(
        self,
        ours: Callable[[Did], Audited | None],
        check: Callable[[Iterable[Audited]], Coroutine[Any, Any, object]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ours = ours
        self._check = check
        self._clock = clock
        self._due: dict[Did, float] = {}
        self._rests_until: dict[Did, float] = {}

    def heard(self, did: Did) -> None:
        """Note that a commit of the repo was received just now."""
        if did in self._due or len(self._due) < MOST:
            self._due[did] = max(self._clock() + QUIET_SECONDS, self._rests_until.get(did, 0.0))

    async def run(self) -> None:
        """Compare the repos that are due, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(LOOK_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load
                if due := self.due():
                    # A slow host must not delay the repos of the others.
                    group.create_task(self._check(due))

    def due(self) -> list[Audited]:
        """Take the repos that are due now, few of each host; they become due again with their next commit."""
        now = self._clock()
        self._rests_until = {did: until for did, until in self._rests_until.items() if until > now}
        of_host, found = Counter[str](), list[Audited]()
        for did in [did for did, at in self._due.items() if at <= now]:
            repo = self._ours(did)
            if repo is not None and of_host[repo.pds] >= AT_A_HOST:
                continue
            del self._due[did]
            if repo is None:  # a resync is under way, which asks the PDS anyway
                continue
            of_host[repo.pds] += 1
            self._rests_until[did] = now + REST_SECONDS
            found.append(repo)
            if len(found) == AT_A_LOOK:
                break
        return found
