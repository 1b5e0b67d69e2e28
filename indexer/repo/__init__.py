"""Repositories: CAR files, DAG-CBOR, the tree (MST), signatures, and the verification of commits.

Promises: pure. Bytes in, verified records out, or the reason for a refusal; imports no network and no store.
Leaves to sync: what an unproven commit means for its repo.

https://atproto.com/specs/repository
"""
