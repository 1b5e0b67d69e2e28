"""Claims the service's port for one service, and opens the sockets that its workers share."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from schemas.settings import Settings

UNTAKEN_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 2.0  # for workers of a killed service, which outlive it for a moment


class PortTaken(Exception):
    """The port cannot be listened on. The message is a sentence that says why."""


@contextmanager
def claim_port(settings: Settings, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the port for one service until the block ends. Raises PortTaken.

    Workers share it with SO_REUSEPORT, which would let another service of the same user join them in silence.
    """
    with _alone(settings):
        until = time.monotonic() + patience_seconds
        while not _is_free(settings, last=time.monotonic() > until):
            time.sleep(0.05)
        yield


def listen_on_port(settings: Settings) -> socket.socket:
    """A listening socket on the port that this service's workers share. Raises PortTaken."""
    with _sentences(settings):
        listening = _bound(settings, socket.SO_REUSEADDR, socket.SO_REUSEPORT)
    if sys.platform == "linux":
        # Drops data that the kernel still holds for a closed connection whose client receives nothing.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN_SECONDS * 1000))
    return listening


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Exclude services that start at the same moment, before either listens.

    Uses an abstract Unix socket: one process per network namespace can bind it, and it ends with that. On
    systems without them, two simultaneous starts are not detected.
    """
    with ExitStack() as stack:
        if sys.platform == "linux" and settings.port > 0:
            claim = stack.enter_context(socket.socket(socket.AF_UNIX))
            with _sentences(settings):
                claim.bind(f"\0fmsvc-{os.geteuid()}-{settings.port}-{settings.host}"[:100])
        yield


def _is_free(settings: Settings, last: bool) -> bool:
    """Whether the port is free for one service. Raises PortTaken instead of returning False if `last`."""
    try:
        # Without SO_REUSEPORT the system refuses while any other socket listens.
        with _sentences(settings), _bound(settings, socket.SO_REUSEADDR) as probe:
            probe.listen(1)
    except PortTaken:
        if last:
            raise
        return False
    return True


def _bound(settings: Settings, *options: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        for option in options:
            bound.setsockopt(socket.SOL_SOCKET, option, 1)
        bound.bind((settings.host, settings.port))
    except OSError:
        bound.close()
        raise
    return bound


@contextmanager
def _sentences(settings: Settings) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PortTaken(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from error
