"""`fmsvc completion`: the script by which a shell completes commands and options."""

from typing import Literal


def print_completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script of a shell.

    Parameters
    ----------
    shell
        The shell: source the output from its start-up file.
    """
    from fmsvc.cli.app import app

    print(app.generate_completion(prog_name="fmsvc", shell=shell))
