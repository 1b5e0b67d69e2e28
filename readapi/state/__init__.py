"""The API's state: sessions, grants, tokens, uploads, publishing jobs, stored files, preferences, plays.

Owns the state database (SQLite, or PostgreSQL by URL) and the keys that its secrets are encrypted with.
Promises: ids and tokens are stored as hashes, grants and keys encrypted and bound to their row.
Leaves to readapi.oauth: every exchange with authorization servers.
"""
