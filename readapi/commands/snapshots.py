"""`snapshots`: the process that has the catalogue's snapshots open."""

import asyncio

from readapi.commands.start import FAILED, Supervised, begin, stop
from readapi.index.snapshots import messages, server
from readapi.processes import snapshot_reader
from schemas import heap


def snapshots(*, supervised: Supervised = False) -> None:
    """Answer the API's queries of the catalogue's snapshots: statistics, top tracks, tags, site maps."""
    settings = begin("snapshots", supervised)
    heap.bound_arenas()
    try:
        asyncio.run(snapshot_reader.run_snapshot_reader(settings))
    except server.Occupied:
        stop(FAILED, f"Another process reads the snapshots in {settings.data_dir}.")
    except OSError as error:
        path = messages.socket_of(settings.data_dir)
        stop(FAILED, f"The socket {path} cannot be made ({error}); choose another FMSVC_DATA_DIR.")
