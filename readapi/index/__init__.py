"""Read access to the search index, its documents, and snapshots of the catalogue.

Owns nothing on disk. Promises: an answer comes from one version of the index; pages neither repeat nor skip.
Leaves to schemas.access: who may see what; to the indexer: everything that is written.
"""
