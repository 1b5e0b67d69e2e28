"""The tree of commands. Those of a file are imported when one of them runs or is described."""

import cyclopts

from fmsvc import __version__

app = cyclopts.App(
    name="fmsvc",
    help="Audio records on the AT Protocol network.",
    version=f"fmsvc {__version__}",
    help_format="plaintext",
)
# The sentences stand here too, so that help imports nothing; tests hold them to the functions.
app.command("fmsvc.cli.account:login", name="login", help="Sign in with a browser, and keep the session.")
app.command(
    "fmsvc.cli.account:logout", name="logout", help="End the kept session, here and at your own server."
)
app.command("fmsvc.cli.account:me", name="me", help="Show the account that is signed in.")
app.command(
    "fmsvc.cli.mcp:serve_mcp",
    name="mcp",
    help="Serve MCP on standard input and output, for an AI assistant.",
)
app.command(
    "fmsvc.cli.completion:print_completion", name="completion", help="Print the completion script of a shell."
)
