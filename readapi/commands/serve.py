"""`serve`: the whole service, with a supervised process for each part."""

import asyncio
import sys

from readapi.commands.start import FAILED, Supervised, begin, publish_url, stop
from readapi.commands.supervisor import Program, supervise
from readapi.http import process_metrics
from readapi.processes import port


def serve(*, follow: bool = False, supervised: Supervised = False) -> None:
    """Run the indexer, API, its reader of snapshots, job worker and, with FMSVC_FLIGHT_PORT, Flight SQL.

    Those that exit are restarted.

    While the indexer cannot write, the API serves what is indexed, and the indexer is restarted.

    Parameters
    ----------
    follow
        Run no indexer; follow the indexers that publish at FMSVC_PUBLISH_URL.
    """
    settings = begin("serve", supervised)
    if follow:
        publish_url(settings)
    source = "follow" if follow else "index"
    api = [Program(name, ("api", "--shared", "--name", name)) for name in process_metrics.api_names(settings)]
    programs = [
        Program(source, (source,), vital=False),
        Program("snapshots", ("snapshots",), vital=False, last=True),
        *api,
        Program("work", ("work",)),
    ]
    if settings.flight_port is not None:
        programs.append(Program("flight", ("flight",), vital=False))
    try:
        with port.claim_port(settings):
            sys.exit(asyncio.run(supervise(programs)))
    except port.PortTaken as error:
        stop(FAILED, str(error))
