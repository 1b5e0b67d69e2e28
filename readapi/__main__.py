"""The server's command line: `fmsvc-server serve`, and the parts that `serve` is made of."""

import gc
import sys
from importlib import metadata

import cyclopts

app = cyclopts.App(
    name="fmsvc-server",
    help="An index of every audio record on the AT Protocol network, and the API on top of it. "
    "Configured by FMSVC_* environment variables.",
    version=lambda: f"fmsvc-server {metadata.version('fmsvc-server')}",
    version_flags="--version",
)

# By their names, so that each is imported only when it is run.
for command in (
    "serve:serve",
    "index:index",
    "follow:follow",
    "api:api",
    "snapshots:snapshots",
    "flight:flight",
    "work:work",
    "migrate:migrate",
    "record:replay",
    "record:record",
    "maintenance:rebuild",
    "maintenance:check",
    "maintenance:audit",
    "dead_letters:dead_letters",
    "verify:verify",
    "takedown:takedown",
    "label:label",
    "reports:reports",
    "notices:notices",
    "abuse:abuse",
    "publish_lexicons:publish_lexicons",
    "trash:trash",
    "backup:backup",
    "backup:restore",
):
    app.command(f"readapi.commands.{command}")
app.command("readapi.commands.keep:keep", show=False)


def main() -> None:
    """Entry point of `fmsvc-server`."""
    gc.disable()  # imports leave no garbage, and looking for it would be a seventh of a start
    if not sys.argv[1:] or sys.argv[1] in app.help_flags:
        app.resolved_commands()  # the list of commands tells what each of them does
    app()


if __name__ == "__main__":
    main()
