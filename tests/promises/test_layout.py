"""Tests stand where a reader looks for them, and a fixture's name means one thing.

A test of a module stands in the mirror of the tree under the module's name. A topic that crosses modules
stands in `features/`, a promise of the whole service in `promises/`.
"""

import ast
import functools
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
MIRRORED = ("schemas", "indexer", "readapi")
FILES = sorted(path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)
# Folders below tests/ whose test files are named after what they are about, and not after a module.
TOPICS = ("features", "promises", "network", "bench", "fmsvc")


def module_of(path: Path) -> Path:
    """The module (without its suffix) that a test file in the mirror is named after."""
    return ROOT / path.relative_to(TESTS).parent / path.stem.removeprefix("test_")


def is_module(path: Path) -> bool:
    """Does a module, a package or a program of this name exist?"""
    program = path.with_name(f"__{path.name}__.py")
    return path.with_suffix(".py").exists() or path.is_dir() or program.exists()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def defined_fixtures(path: Path) -> frozenset[str]:
    """The fixtures that a file defines: they stand at its outermost level."""
    return frozenset(
        node.name
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
    )


@functools.cache
def shared_fixtures(path: Path) -> frozenset[str]:
    """The fixtures that a conftest shares: its own, and those that it imports from files of the tests."""
    found = defined_fixtures(path)
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            source = ROOT.joinpath(*(node.module or "").split(".")).with_suffix(".py")
            if source.exists():
                found |= {alias.name for alias in node.names} & shared_fixtures(source)
    return found


def conftests_above(path: Path) -> list[Path]:
    """The conftests whose fixtures a file sees, without itself."""
    folders = [folder for folder in path.parents if folder == TESTS or TESTS in folder.parents]
    return [found for folder in folders if (found := folder / "conftest.py").exists() and found != path]


def test_no_fixture_hides_one_of_a_conftest_above_it() -> None:
    """So that a reader of a test knows which fixture it gets."""
    hidden = {
        str(path.relative_to(ROOT)): names
        for path in FILES
        if (names := defined_fixtures(path) & frozenset().union(*map(shared_fixtures, conftests_above(path))))
    }

    assert hidden == {}


def test_every_test_file_in_the_mirror_names_what_it_tests() -> None:
    """A module, or a package whose modules are tested together."""
    mirrored = [path for folder in MIRRORED for path in (TESTS / folder).rglob("test_*.py")]
    astray = [str(path.relative_to(ROOT)) for path in sorted(mirrored) if not is_module(module_of(path))]

    assert mirrored
    assert astray == []


def test_every_other_test_file_stands_among_topics_or_promises() -> None:
    """Or it tests a helper of the tests, beside which it stands."""
    astray = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.name.startswith("test_")
        and path.relative_to(TESTS).parts[0] not in (*MIRRORED, *TOPICS)
        and not path.with_name(path.name.removeprefix("test_")).exists()
    ]

    assert astray == []
