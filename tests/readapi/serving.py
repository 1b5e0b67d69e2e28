"""A worker in this process, with the network that its settings name, and its reader of snapshots."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from readapi.commands.network import open_network
from readapi.processes import api, snapshot_reader
from readapi.processes.stores import Stores
from schemas.settings import Settings


@asynccontextmanager
async def serving(settings: Settings, sock: socket.socket) -> AsyncIterator[Stores]:
    """Serve for as long as the block runs; grants are refreshed in this process too."""
    async with (
        open_network(settings) as network,
        snapshot_reader.open_snapshot_reader(settings),
        api.open_worker(settings, sock, network) as stores,
    ):
        yield stores
