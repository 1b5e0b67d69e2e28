"""Requests to an account's own server on its behalf: sign-in, grants and their refresh, writing records.

Owns the use of grants. Promises: a refresh token is used once, by one process; a write is sent once.
Leaves to oauth: the protocol; to state: storage; to routes: who is authorized.
"""
