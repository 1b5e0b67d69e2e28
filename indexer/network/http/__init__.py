"""HTTP to other servers: guarded clients, with limits on connections, bytes and time for each exchange."""
