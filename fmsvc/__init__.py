"""The client of fmsvc: SDK, command line and MCP server. Imports nothing of the servers."""

__version__ = "0.1.0"
