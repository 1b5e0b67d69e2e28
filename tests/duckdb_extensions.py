"""DuckDB's extensions for Iceberg, from pip packages: INSTALL would fetch them from the network."""

import importlib.util
from pathlib import Path

import duckdb
import pytest


def load_iceberg(con: duckdb.DuckDBPyConnection) -> None:
    """Load `iceberg`, and `avro`, which it would fetch otherwise. Skips where none is for this DuckDB."""
    for name in ("avro", "iceberg"):
        spec = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}"
        if not folder.exists():
            pytest.skip(f"no package has DuckDB's {name} for {duckdb.__version__}")
        con.load_extension(str(folder / f"{name}.duckdb_extension"))
