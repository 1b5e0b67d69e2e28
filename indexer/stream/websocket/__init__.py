"""The websocket under every source: `stream` reconnects, `connection` reads, `inbox` holds what waits."""
