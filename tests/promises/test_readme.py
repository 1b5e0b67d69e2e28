"""README and docs: what they say of the tree, settings and dependencies is true; links lead somewhere."""

import re
import tomllib
from pathlib import Path

import pytest

from schemas.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PACKAGES = ("schemas", "indexer", "readapi", "fmsvc")


def test_the_readme_shows_the_folders_that_there_are() -> None:
    """Each with a word about it."""
    block = README.split("## The map", 1)[1].split("```")[1]
    shown = dict(line.split(maxsplit=1) for line in block.strip().splitlines())

    assert all((ROOT / folder).is_dir() for folder in shown)
    assert {f"{package}/" for package in PACKAGES} <= shown.keys()


def test_every_setting_is_told_with_its_default() -> None:
    """One row per variable: name, default, meaning."""
    rows = dict(re.findall(r"^\| `(FMSVC_\w+)` \| `?(.*?)`? \|", CONFIGURATION, re.MULTILINE))

    assert rows.keys() == {PREFIX + name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = "" if default in (None, ()) else str(default)
        assert rows[PREFIX + name.upper()] == shown
        assert field.description is not None
        assert field.description in CONFIGURATION


def test_every_dependency_is_accounted_for() -> None:
    """What each saves and what it costs; tools of tests and measurements are not users'."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    used = [
        *project["dependencies"],
        *(name for extra in extras.keys() - {"test", "bench"} for name in extras[extra]),
    ]
    told = (ROOT / "docs" / "dependencies.md").read_text()

    for requirement in used:
        name = re.match(r"[\w-]+", requirement)
        assert name is not None
        assert f"**{name[0]}**" in told, f"docs/dependencies.md does not say why {name[0]} is here"


def test_the_readme_can_be_read_in_one_go() -> None:
    """What is longer stands in docs/."""
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_path_leads_somewhere(page: Path) -> None:
    """Links to files of ours, and modules that are named by their path."""
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}, which is not there"
    for path in re.findall(
        r"`((?:schemas|indexer|readapi|fmsvc|tests|docs|deploy|lexicons)/[\w./-]+)`", text
    ):
        assert (ROOT / path).exists(), f"{page.name} names {path}, which is not there"


def test_every_page_of_docs_is_linked_from_the_readme() -> None:
    """A page that nothing leads to is not read."""
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in README, page.name
