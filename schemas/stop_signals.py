"""The signals by which a process is asked to end: SIGTERM of a supervisor, SIGINT of a terminal."""

import asyncio
import signal


def stop_event() -> asyncio.Event:
    """An event that these signals set. Call this once in a process, on its running loop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
