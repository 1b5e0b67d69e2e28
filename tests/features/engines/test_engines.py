"""Each engine gives the answer of the Parquet files, by the program that docs/engines.md shows.

DuckDB and Polars always; Daft on Ray and Spark with ENGINES=1, which `make engines` sets.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from indexer.catalog.published.iceberg import data_files
from tests.duckdb_extensions import load_iceberg
from tests.features.engines.warehouse import make_tables, program, wanted
from tests.promises.documented import ROOT

PYTHON = ROOT / ".venv-engines" / "bin" / "python"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose table of likes has many files."""
    made = tmp_path_factory.mktemp("engines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_files, "FILE_BYTES", 1 << 18)
        patch.setattr(data_files, "GROUP_BYTES", 1 << 18)
        make_tables(made)
    return made


@pytest.fixture
def engines() -> Path:
    """The Python of the environment with the large engines."""
    if not os.environ.get("ENGINES"):
        pytest.skip("large: make engines installs and runs it")
    return PYTHON


def run(*command: object, **variables: str) -> str:
    """What a program prints; what it says is printed here."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    print(done.stderr[-4000:])
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_duckdb(folder: Path) -> None:
    """From the metadata files, without the catalogue."""
    with duckdb.connect() as con:
        load_iceberg(con)
        assert con.execute(program("DuckDB", folder)).fetchall() == wanted(folder)


@pytest.mark.slow
def test_polars(folder: Path, tmp_path: Path) -> None:
    """By the catalogue."""
    path = tmp_path / "program.py"
    path.write_text(program("Polars", folder))

    assert ast.literal_eval(run(sys.executable, path)) == wanted(folder)


@pytest.mark.slow
def test_daft_on_ray(folder: Path, tmp_path: Path, engines: Path) -> None:
    """On two workers, and again while one of them is killed."""
    path = tmp_path / "program.py"
    path.write_text(program("Daft on Ray", folder))

    printed = run(engines, Path(__file__).with_name("on_ray.py"), path)

    answers = [ast.literal_eval(line) for line in printed.splitlines() if line.startswith("[(")]
    assert answers == [wanted(folder)] * 2


@pytest.mark.slow
def test_spark(folder: Path, tmp_path: Path, engines: Path) -> None:
    """In a master and two workers, each in a JVM of its own."""
    if shutil.which("java") is None:
        pytest.skip("no Java is installed: apt-get install openjdk-17-jre-headless")
    path = tmp_path / "program.py"
    path.write_text(program("Spark", folder))

    printed = run(engines, path, SPARK_LOCAL_IP="127.0.0.1")

    [answer] = [ast.literal_eval(line) for line in printed.splitlines() if line.startswith("[(")]
    assert answer == wanted(folder)
