"""The question before what cannot be undone."""

import sys

from fmsvc.cli.output import safe
from fmsvc.errors import FmsvcError


def confirm(question: str, yes: bool) -> None:
    """Ask on the terminal, unless `yes`. Raises FmsvcError when the answer is no, or no terminal is there."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise FmsvcError(f"{question} There is no terminal to ask at: give --yes.", code="usage")
    print(f"{safe(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise FmsvcError("Cancelled: nothing was changed.")
