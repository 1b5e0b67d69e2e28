"""The command line `fmsvc`."""

import cyclopts

from fmsvc import __version__

app = cyclopts.App(name="fmsvc", help="The command line of fmsvc.", version=f"fmsvc {__version__}")


def main() -> None:
    """Runs the command of the arguments; ends the process with its exit code."""
    app()
