"""`verify`: a record's proof, check by check."""

import asyncio
import sys

from indexer import inspection
from readapi.commands.start import FAILED, begin
from schemas.settings import Settings


def verify(uri: str) -> None:
    """Fetch a record's proof from its own server and print each check; exit with 1 unless all hold.

    Needs no index.

    Parameters
    ----------
    uri
        The record's at-uri, by DID or handle.
    """
    checks = asyncio.run(_checked(begin("verify"), uri))
    for name in inspection.NAMES[len(checks) :]:
        print(f"{'-':<4}{name:<11}not checked")
    if len(checks) < len(inspection.NAMES) or not all(check.holds for check in checks):
        sys.exit(FAILED)


async def _checked(settings: Settings, uri: str) -> list[inspection.Check]:
    """Each check is printed when it is made."""
    checks = []
    async for check in inspection.inspect(settings, uri):
        print(f"{'ok' if check.holds else 'NO':<4}{check.name:<11}{check.told}", flush=True)
        checks.append(check)
    return checks
