"""A worker in this process, with the network that its settings name, and its reader of snapshots."""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from readapi.commands.network import open_network
from readapi.index.snapshots import messages
from readapi.processes import api, snapshot_reader
from readapi.processes.stores import Stores
from schemas import control_socket
from schemas.settings import Settings


@asynccontextmanager
async def serving(settings: Settings, sock: socket.socket) -> AsyncIterator[Stores]:
    """Serve for as long as the block runs; grants are refreshed in this process too.

    Several workers of one data folder share the reader of the first.
    """
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(open_network(settings))
        if not control_socket.is_listening(messages.socket_of(settings.data_dir)):
            await stack.enter_async_context(snapshot_reader.open_snapshot_reader(settings))
        yield await stack.enter_async_context(api.open_worker(settings, sock, network))
