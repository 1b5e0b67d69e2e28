"""Runs a command that works on the state database alone."""

import asyncio
from collections.abc import Awaitable, Callable

from readapi.commands.operator import user_name
from readapi.commands.start import UNUSABLE, begin, stop
from readapi.commands.state_errors import explained
from readapi.state.state import State, open_state
from schemas.settings import Settings
from schemas.takedowns import MOST_REASON


def run_with_state(name: str, work: Callable[[Settings, State], Awaitable[None]]) -> None:
    """Open the state and do the work; errors of the state become a sentence and an exit code."""
    settings = begin(name)

    async def run() -> None:
        async with open_state(settings) as state:
            await work(settings, state)

    explained(lambda: asyncio.run(run()))


def read_reason(reason: str, decided_by: str | None) -> tuple[str, str]:
    """The reason of a decision, and who decides. Ends the command where one is missing or too long."""
    reason, by = reason.strip(), (decided_by or user_name()).strip()
    if not 0 < len(reason) <= MOST_REASON or not 0 < len(by) <= MOST_REASON:
        stop(UNUSABLE, f"The reason, and who decides, have 1 to {MOST_REASON:,} characters.")
    return reason, by
