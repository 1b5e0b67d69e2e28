"""`verify`: checks a record's cryptographic proof and prints each check."""

import asyncio
import sys

from indexer.control import inspect_record
from readapi.commands.start import FAILED, begin
from schemas.settings import Settings


def verify(uri: str) -> None:
    """Fetch a record's proof from its PDS and print each check; exit with 1 unless all succeed.

    Needs no index.

    Parameters
    ----------
    uri
        The record's at-uri, by DID or handle.
    """
    checks = asyncio.run(_checked(begin("verify"), uri))
    for name in inspect_record.NAMES[len(checks) :]:
        print(f"{'-':<4}{name:<11}not checked")
    if len(checks) < len(inspect_record.NAMES) or not all(check.holds for check in checks):
        sys.exit(FAILED)


async def _checked(settings: Settings, uri: str) -> list[inspect_record.Check]:
    """Make the checks and print each at once."""
    checks = []
    async for check in inspect_record.inspect_record(settings, uri):
        print(f"{'ok' if check.holds else 'NO':<4}{check.name:<11}{check.sentence}", flush=True)
        checks.append(check)
    return checks
