"""`abuse`: who likes, comments or plays much, and which tracks' likes are suspicious."""

import orjson

from readapi.commands.start import FAILED, stop
from readapi.commands.with_state import run_with_state
from readapi.errors import IndexNotReady
from readapi.index.snapshots.local import LocalSnapshots
from readapi.pages.abuse_report import make_report
from readapi.state.state import State
from schemas.settings import Settings


def abuse() -> None:
    """Print what looks like abuse as JSON, by the thresholds of the settings.

    `accounts`: likes and comments on the network in an account's busiest hour of the last day. `here`: what
    accounts and networks did through this service, plays too. `tracks`: likes in bursts or of fresh accounts.
    """

    async def report(settings: Settings, state: State) -> None:
        catalog = LocalSnapshots(settings)
        try:
            await catalog.refresh()
            told = await make_report(settings, state, catalog)
        except IndexNotReady as error:
            stop(FAILED, error.message)
        finally:
            catalog.close()
        print(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())

    run_with_state("abuse", report)
