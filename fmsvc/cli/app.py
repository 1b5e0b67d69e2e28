"""The tree of commands, made of `fmsvc.cli.commands`. A command's module is imported when it runs."""

import cyclopts

from fmsvc import __version__
from fmsvc.cli.commands import COMMANDS, GROUPS


def _make_app() -> cyclopts.App:
    made = cyclopts.App(
        name="fmsvc",
        help="Audio records on the AT Protocol network.",
        version=f"fmsvc {__version__}",
        suppress_keyboard_interrupt=False,
        help_format="plaintext",
    )
    groups = {name: cyclopts.App(name=name, help=sentence) for name, sentence in GROUPS.items()}
    for app_of_group in groups.values():
        made.command(app_of_group)
    for path, (function, sentence) in COMMANDS.items():
        group, _, name = path.rpartition(" ")
        home = groups[group] if group else made
        home.command(f"fmsvc.cli.{function}", name=name, help=sentence)
    return made


app = _make_app()
