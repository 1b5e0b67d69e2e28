"""Ends a process when its parent process is gone, however that ended."""

import os
import signal
import threading


def follow_parent() -> None:
    """End this process when its standard input closes, as it does when the parent is gone."""

    def wait_for_the_end() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait_for_the_end, daemon=True, name="lifeline").start()
