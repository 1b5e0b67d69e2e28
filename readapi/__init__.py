"""Serves the index to the public over HTTP.

Owns the HTTP contract; of the index it only reads: Tantivy, snapshots, the indexer's control socket.
Promises: one error shape on every route, access decided in one place, and no question that brings it down.
Leaves to indexer: everything that is written.
"""
