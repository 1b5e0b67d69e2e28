"""Acts on notices: what is decided about a notice takes its subject down, or restores it."""

from contextlib import suppress

from readapi.state import takedown_decisions
from readapi.state.notices import NotDecided, NoticeDecision
from readapi.state.state import State
from schemas import notices
from schemas.takedowns import MOST_REASON, Action

_ACTIONS: dict[notices.State, Action] = {"acted_on": "takedown", "restored": "restore"}


async def decide_notice(
    state: State, number: int, decided: notices.State, note: str, by: str, base_url: str
) -> NoticeDecision:
    """Decide a notice. Raises NotDecided, its own or that of takedowns, if its state does not allow it.

    The takedown is written first, so repeating an interrupted decision finds it done.
    """
    notice = await state.notices.find(number)
    if notice is None:
        raise NotDecided(f"There is no notice {number}.")
    if decided not in notices.DECISIONS[notice.state]:
        raise NotDecided(f"Notice {number} is {notice.state}: it cannot become {decided}.")
    if (action := _ACTIONS.get(decided)) is not None:
        reason = f"Notice {number} ({base_url}/notices/{number}): {note}"[:MOST_REASON]
        with suppress(takedown_decisions.AlreadyDecided):
            await state.takedown_decisions.decide(notice.subject, action, reason, by)
    return await state.notices.decide(number, decided, note, by)
