"""Engines of others, each with its query of docs/engines.md, over Iceberg tables of this service."""
