"""`flight`: SQL over the open data by Arrow Flight SQL."""

import asyncio
import resource
import time
from typing import Final

import structlog

from readapi.commands.start import FAILED, UNUSABLE, Supervised, begin, stop
from readapi.http.limits.clients import Clients
from readapi.http.limits.rate_limits import Limiter, Rate
from readapi.sql.queries import Queries
from schemas import data_folder, stop_signals
from schemas.settings import Settings

MEMORY_BYTES: Final = 2 << 30  # gRPC bounds no message; then this process ends, and is started anew

log = structlog.get_logger()


def flight(*, supervised: Supervised = False) -> None:
    """Answer statements of SQL over Arrow Flight SQL on FMSVC_FLIGHT_PORT."""
    settings = begin("flight", supervised)
    if settings.flight_port is None:
        stop(UNUSABLE, "FMSVC_FLIGHT_PORT is not set, so there is no port to listen on.")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    asyncio.run(_serve(settings, settings.flight_port))


async def _serve(settings: Settings, port: int) -> None:
    from readapi.sql.flight import FlightServer  # gRPC, only for who asks for it

    loop, stopped = asyncio.get_running_loop(), stop_signals.stop_event()
    queries = Queries(settings.data_dir / data_folder.NEWEST_PUBLISHED)
    limiter = Limiter(Rate.read(settings.sql_rate_limit), time.monotonic, "flight")
    try:
        server = FlightServer(settings.host, port, queries, limiter, Clients(settings.trusted_proxies), loop)
    except OSError as error:
        stop(FAILED, f"Arrow Flight SQL cannot listen on {settings.host}:{port}: {error}")
    log.info("listening", address=f"grpc://{settings.host}:{server.port}")
    await stopped.wait()
    await queries.close()
    await asyncio.to_thread(server.shutdown)
