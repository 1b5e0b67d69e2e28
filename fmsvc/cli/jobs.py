"""`fmsvc jobs`."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fmsvc.cli import columns, exit_codes
from fmsvc.cli.output import PLAIN, Output, print_error
from fmsvc.cli.service import THE_SERVICE, Service

if TYPE_CHECKING:
    from fmsvc import Client

_WAIT_SECONDS = 300.0


def watch(
    job_id: str,
    *,
    timeout: Annotated[float, Parameter(help="Seconds to wait.")] = _WAIT_SECONDS,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> int:
    """Wait until a job is done, and show what it changed.

    Parameters
    ----------
    job_id
        The job's id.
    """
    with service.open_signed_in() as client:
        return follow(client, job_id, output, timeout)


def follow(client: "Client", job_id: str, output: Output, timeout: float = _WAIT_SECONDS) -> int:
    """Wait for a job, and print it; the exit code. Raises FmsvcError when it is not done in time."""
    output.say(f"Waiting for the job {job_id}.")
    job = client.jobs.wait(job_id, timeout=timeout)
    output.item(job, columns.JOB)
    for failure in job.failures:
        print_error(f"track {failure.track_id}: {failure.message}")
    return exit_codes.OK if job.status == "completed" else exit_codes.FAILED
