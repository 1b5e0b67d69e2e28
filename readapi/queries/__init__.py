"""Questions put to the index and to snapshots. No HTTP in here; SQL stands beside its function."""
