"""Empty catalogues, made once in each process of tests and copied from then on."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from indexer.catalog.writing.writer import Writer
from schemas import data_folder
from schemas.settings import Settings


def begin(data_dir: Path) -> None:
    """Put an empty catalogue into a data folder that has none, which takes half as long as to make one."""
    if not (data_dir / data_folder.CATALOGUE).exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_template(), data_dir / data_folder.CATALOGUE)


@functools.cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fmsvc-catalogue-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Writer.open(Settings(data_dir=folder)) as writer, writer.copying:
        writer.checkpoint(patient=True)
    return folder / data_folder.CATALOGUE
