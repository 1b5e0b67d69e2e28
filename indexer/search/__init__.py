"""The search index: stale references from the outbox -> documents in Tantivy.

Owns the index folders. Promises: every change committed to the catalogue reaches the index, after any crash.
Leaves to catalog: which documents are stale; to readapi: queries and access.
"""
