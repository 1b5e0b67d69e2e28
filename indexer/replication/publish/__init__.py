"""The publishing side, within the indexer: files that changed go to the object store, then the manifest."""
