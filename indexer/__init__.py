"""The indexer process: follows the network's commits, and keeps catalogue and search index up to date.

Owns the catalogue, the search index, the snapshots and the cursor; no other process writes them.
Promises: every commit is applied at least once, in order within a repo, and repeating one is harmless.
Leaves to readapi: who may see what.
"""
