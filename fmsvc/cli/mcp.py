"""`fmsvc mcp`."""

from fmsvc.errors import FmsvcError


def serve_mcp() -> None:
    """Serve MCP on standard input and output, for an AI assistant.

    Needs the extra `mcp` and the address of a service in `FMSVC_API_URL`.
    """
    try:
        from fmsvc.mcp import run_stdio

        run_stdio()
    except (ImportError, ValueError) as error:
        raise FmsvcError(str(error), code="usage") from None
