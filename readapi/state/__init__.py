"""What the API keeps: who is signed in, and what they let us do for them.

Owns the state database (SQLite, or PostgreSQL by URL) and the keys that its secrets are encrypted with.
Promises: ids and tokens are stored as hashes, grants and keys encrypted and bound to their row.
Leaves to readapi.oauth: everything that is said to authorization servers.
"""
