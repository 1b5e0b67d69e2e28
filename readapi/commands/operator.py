"""The person who runs a command, as its log names them."""

import getpass
import os


def user_name() -> str:
    """The name of the user that runs the command; its number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
