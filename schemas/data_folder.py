"""The files of the data folder that both programs use, by their paths in it. Each name is written here alone.

What only one program uses is named by the module that owns it: `secret.key`, `audio`, the spools.
"""

from typing import Final

CATALOGUE: Final = "catalog.duckdb"  # written by the indexer; nothing else opens it while that runs
CATALOGUE_LOG: Final = f"{CATALOGUE}.wal"
CONTROL_SOCKET: Final = "control.sock"  # of the running indexer; `schemas/control_socket.py` is its client
SEARCH: Final = "search"  # the search indexes, in folders that `schemas/search_index.py` names
SNAPSHOTS: Final = "snapshots"  # read-only copies of the catalogue
NEWEST_SNAPSHOT: Final = f"{SNAPSHOTS}/current"  # a symbolic link to one of them
NEWEST_SERIES: Final = f"{SNAPSHOTS}/series"  # a symbolic link to the series that were counted of one
NEWEST_PUBLISHED: Final = f"{SNAPSHOTS}/published"  # a symbolic link to the tables of the newest export
CHANGES: Final = "changes"  # the change log, in segments that `schemas/change_log.py` describes
EXPORTS: Final = "exports"  # the open data, as Parquet files
EXPORT_MANIFEST: Final = f"{EXPORTS}/manifest.json"
ICEBERG: Final = (
    "iceberg"  # the open data, as Iceberg tables: their catalogue and files, unless settings say where
)
ICEBERG_TABLES: Final = f"{ICEBERG}/tables.json"  # where their newest metadata is
STATE: Final = "state"  # of the API
STATE_FILE: Final = "state.db"
STATE_DATABASE: Final = f"{STATE}/{STATE_FILE}"  # unless FMSVC_STATE_URL names a PostgreSQL database
