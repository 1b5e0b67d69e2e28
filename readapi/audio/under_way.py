"""The connections on which recordings are being sent: those of what is taken down are cut at once."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import Final

from readapi.index.takedowns import StandingTakedowns
from schemas.takedowns import Takedowns

Subjects = tuple[str, ...]

_LINGER: Final = Struct("ii")  # of socket(7): whether close waits, and for how many seconds


class UnderWay:
    """Sendings under way, each with what a takedown of it may name."""

    def __init__(self, takedowns: StandingTakedowns) -> None:
        self._takedowns = takedowns
        self._sendings: dict[object, tuple[Subjects, asyncio.Transport]] = {}
        takedowns.on_change(self._cut)

    @contextmanager
    def sending(self, subjects: Subjects, transport: asyncio.Transport) -> Iterator[None]:
        """Within the block the connection is cut by a takedown. Raises ConnectionError if there is one."""
        if self._takedowns.now.covers_any(subjects):
            raise ConnectionAbortedError("the recording was taken down")
        key = object()
        self._sendings[key] = subjects, transport
        try:
            yield
        finally:
            del self._sendings[key]

    def _cut(self, takedowns: Takedowns) -> None:
        for subjects, transport in tuple(self._sendings.values()):
            if takedowns.covers_any(subjects):
                cut_connection(transport)


def cut_connection(transport: asyncio.Transport) -> None:
    """End a connection so that not even the bytes in the kernel's buffers arrive."""
    with suppress(OSError), socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as ours:
        # What is sent by a duplicate of the descriptor does not end with the transport, but with this.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER.pack(1, 0))
        ours.shutdown(socket.SHUT_RDWR)
    transport.abort()
