"""Queries of the index and of snapshots. No HTTP in here; SQL stands beside its function."""
