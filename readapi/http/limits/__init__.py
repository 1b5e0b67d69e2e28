"""Limits per client, per account and in total: requests, connections, uploads, disk."""
