"""Of two indexers on one folder one has it, from the first moment on."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROUNDS = 10
OPENER = """
import sys
from pathlib import Path
from indexer.catalog.database import StoreError
from indexer.catalog.writing.writer import Writer
from schemas.settings import Settings
print("ready", flush=True)
for line in sys.stdin:
    try:
        with Writer.open(Settings(data_dir=Path(line.strip()))):
            print("open", flush=True)
            sys.stdin.readline()
    except StoreError as error:
        print(error, flush=True)
        sys.stdin.readline()
    print("done", flush=True)
"""


@pytest.fixture
def openers() -> Iterator[list[subprocess.Popen[str]]]:
    """Two processes that open the folder that they are told."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    assert told(started) == ["ready", "ready"]
    yield started
    for opener in started:
        opener.communicate()


def tell(openers: list[subprocess.Popen[str]], line: str) -> None:
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write(f"{line}\n")
        opener.stdin.flush()


def told(openers: list[subprocess.Popen[str]]) -> list[str]:
    return [opener.stdout.readline().strip() for opener in openers if opener.stdout is not None]


@pytest.mark.slow
def test_one_of_two_indexers_gets_an_empty_folder(
    openers: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Each time; the other says who has it."""
    for number in range(ROUNDS):
        folder = tmp_path / str(number)

        tell(openers, str(folder))
        answers = sorted(told(openers))
        tell(openers, "close")

        assert told(openers) == ["done", "done"]
        assert answers[1] == "open"
        assert answers[0].startswith(f"{folder}/catalog.duckdb is in use by another indexer (process ")
