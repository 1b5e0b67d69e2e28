"""Follows the network and keeps the index up to date.

Owns the catalogue, the search index, the snapshots and the cursor; nothing else writes them.
Promises: at least once, in order within a repo, and harmless to repeat.
Leaves to readapi: who may see what.
"""
