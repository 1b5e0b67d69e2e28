"""Queries of the catalogue's snapshots: one process has them open and answers those of all workers."""
