"""`fmsvc verify`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli.arguments import Ref, read_ref
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service
from fmsvc.errors import FmsvcError


def verify(
    ref: Ref,
    *,
    plc_url: Annotated[str, Parameter(help="The PLC directory.")] = "https://plc.directory",
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Check a track's record on this machine, without trust in the service.

    Needs the extra `verify`. Exits with 8 when the proof does not hold.
    """
    try:
        import fmsvc.verify  # noqa: F401
    except ImportError:
        raise FmsvcError("This needs the extra: pip install 'fmsvc[verify]'.", code="usage") from None
    with service.open() as client:
        found = client.tracks.verify(read_ref(ref), plc_url=plc_url)
    output.item(found, ("uri", "cid", "rev", "record"))
    output.say("A signed commit of its account holds this record.")
