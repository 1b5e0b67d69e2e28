"""Keeps each repo's state, and keeps repos complete: by events, resyncs, discovery and audits.

Owns the states and their order (docs/guarantees.md). Promises: a repo that fell behind is found and
fetched again, whatever its PDS does.
Leaves to catalog: how records are stored; to network: how servers are requested.

https://atproto.com/specs/sync
"""
