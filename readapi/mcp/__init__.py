"""The Model Context Protocol at `/mcp`: fmsvc's own MCP server, mounted in the API.

Owns who may reach it (Host and Origin), the way of messages to the server, and the way of its tools back to
this worker. Keeps no sessions: each message is answered by the worker that receives it.
Leaves to `fmsvc.mcp`: tools, resources and prompts.
"""
