"""Errors of DuckDB and the system about the catalogue's file, as sentences for the operator."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb

from indexer.faults import StoreError
from schemas import data_folder

DAMAGE: Final = (
    OSError,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.IOException,
    duckdb.SerializationException,
)
FULL_BYTES: Final = 1 << 20  # less free is a full disk: DuckDB writes blocks of a quarter of it
NO_ROOM: Final = ("no space left", "file too large", "disk quota", "could not write all bytes")


@contextmanager
def explain_errors(path: Path, also: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors of DuckDB and the system about the file into a StoreError; bugs of ours pass unchanged."""
    try:
        yield
    except (OSError, duckdb.Error) as error:
        said = str(error)
        sentence = _sentence(path, said)
        if sentence is None and isinstance(error, DAMAGE) and is_full(path):
            sentence = no_room(path)  # what DuckDB says after an error does not always tell which it was
        if sentence is None and isinstance(error, (*DAMAGE, also)):
            first = said.strip().splitlines()[0][:200]
            sentence = f"{path} cannot be read ({first}); {afresh(path)}"
        if sentence is None:
            raise
        raise StoreError(sentence) from error


def _sentence(path: Path, said: str) -> str | None:
    """A sentence on what the operator can do about the error; None for an unknown error."""
    lowered = said.lower()
    if "set lock" in lowered:
        holder = re.search(r"\(PID (\d+)\)", said)
        process = f" (process {holder[1]})" if holder else ""
        return f"{path} is in use by another indexer{process}; stop that one first."
    if any(words in lowered for words in NO_ROOM):
        return no_room(path)
    if any(words in lowered for words in ("permission denied", "read-only file system", "not a directory")):
        return f"The folder {path.parent} cannot be written; correct its permissions or set FMSVC_DATA_DIR."
    if "out of memory" in lowered:
        return "DuckDB needs more memory than it may take; set FMSVC_DUCKDB_MEMORY higher."
    return None


def no_room(path: Path) -> str:
    """The sentence for a full disk, which damages nothing."""
    return f"No room is left to write {path}; free some and start again. What was committed is intact."


def free_bytes(path: Path) -> int:
    """Free bytes on a file's disk."""
    found = os.statvfs(path.parent)
    return found.f_bavail * found.f_frsize


def is_full(path: Path) -> bool:
    """True when the disk has so little room that this is the likely cause of an error."""
    try:
        return free_bytes(path) < FULL_BYTES
    except OSError:
        return False


def given_up(path: Path, error: BaseException) -> str:
    """The sentence for a connection that is useless after an error, though the file is whole."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
    return f"{path} had to be given up after an error ({said}); start again. What was committed is intact."


def afresh(path: Path) -> str:
    """The end of a sentence: how to begin again without the file."""
    return (
        f"stop the service, move {data_folder.CATALOGUE}*, {data_folder.SEARCH} and {data_folder.SNAPSHOTS} "
        f"out of {path.parent} and start again: "
        "they are read anew from the network. Leave everything else there, which is not."
    )
