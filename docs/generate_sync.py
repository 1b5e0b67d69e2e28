"""Writes fmsvc/_sync from fmsvc/_async: `make sdk`. A test holds one to the other."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from unasync import Rule, unasync_files

ROOT = Path(__file__).resolve().parent.parent
NAMES = {
    "_async": "_sync",
    "asyncio": "time",
    "AsyncClient": "Client",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncIterator": "Iterator",
    "asynccontextmanager": "contextmanager",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}


def generate(target: Path) -> None:
    """Write the synchronous modules into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "_async", Path(folder) / "_sync"
        shutil.copytree(ROOT / "fmsvc/_async", source, ignore=shutil.ignore_patterns("__pycache__"))
        rule = Rule(fromdir=f"{source}/", todir=f"{made}/", additional_replacements=NAMES)
        unasync_files([str(path) for path in source.glob("*.py")], [rule])
        config = ["--config", str(ROOT / "pyproject.toml"), "-q", str(made)]
        for command in (["check", "--select", "I,F401,F811", "--fix"], ["format"]):
            subprocess.run([sys.executable, "-m", "ruff", *command, *config], check=True)
        target.mkdir(exist_ok=True)
        for path in sorted(made.glob("*.py")):
            shutil.copy(path, target / path.name)


if __name__ == "__main__":
    generate(ROOT / "fmsvc/_sync")
