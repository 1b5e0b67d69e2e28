"""Prints docs/map.md: every package and module, with the first line of its docstring."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = ("schemas", "indexer", "readapi", "fmsvc", "lexicons")
HEAD = """# Map

Every module with the first line of its docstring. Made by `make map`; a test holds it to the modules.
"""


def page() -> str:
    """The whole page."""
    programs = (ROOT / name for name in PROGRAMS if (ROOT / name / "__init__.py").exists())
    sections = [f"\n## {folder.name}\n\n" + "".join(_lines(folder, 0)) for folder in programs]
    return "".join([HEAD, *sections, "\n## tests\n\n", *_folders(ROOT / "tests", 0)])


def _lines(folder: Path, depth: int) -> Iterator[str]:
    """A package, its modules, then its packages."""
    yield _entry(depth, f"{folder.name}/", folder / "__init__.py")
    for module in sorted(folder.glob("*.py")):
        if module.name != "__init__.py":
            yield _entry(depth + 1, module.name, module)
    for package in _packages(folder):
        yield from _lines(package, depth + 1)


def _folders(folder: Path, depth: int) -> Iterator[str]:
    """Folders of tests: their modules are too many to list, and named for what they test."""
    yield _entry(depth, f"{folder.name}/", folder / "__init__.py")
    for package in _packages(folder):
        yield from _folders(package, depth + 1)


def _packages(folder: Path) -> list[Path]:
    return sorted(found.parent for found in folder.glob("*/__init__.py"))


def _entry(depth: int, name: str, module: Path) -> str:
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    first = docstring.split("\n\n")[0].replace("\n", " ")
    return f"{'  ' * depth}- `{name}`{' — ' if first else ''}{first}\n"


if __name__ == "__main__":
    print(page(), end="")
