"""The command line `fmsvc`: one file a group of commands, imported when one of them runs."""

import io
import os
import signal
import sys
from types import FrameType

from fmsvc.cli import exit_codes
from fmsvc.cli.app import app
from fmsvc.cli.output import explain, print_error
from fmsvc.errors import FmsvcError


def main() -> None:
    """Run the command of the arguments; ends the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal has every script
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        # In the background of a script. Held back instead of ignored, SIGINT can still end the program below.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run())


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; `arguments` as after the program's name."""
    from cyclopts import CycloptsError

    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        print_error(str(error))
        return exit_codes.USAGE
    except FmsvcError as error:
        print_error(error.message)
        return exit_codes.find_exit_code(error)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the line has ^C, and perhaps a question
        return exit_codes.INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left has no reader
        return exit_codes.OK
    except OSError as error:
        print_error(explain(error))
        return exit_codes.FAILED
    return code if isinstance(code, int) else exit_codes.OK


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End as by Ctrl-C, which leaves no half file."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)
