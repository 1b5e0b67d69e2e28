"""What the README says of the tree, the settings and the dependencies is true."""

import re
import tomllib
from pathlib import Path

from schemas.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PACKAGES = ("schemas", "indexer", "readapi")


def mapped() -> dict[str, str]:
    """Path → description, from the indented map."""
    block = README.split("## The map", 1)[1].split("```")[1]
    found: dict[str, str] = {}
    folders: list[str] = []
    for line in block.strip("\n").splitlines():
        name, _, description = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // 2
        del folders[depth:]
        path = "/".join([*folders, name.rstrip("/")])
        if name.endswith("/"):
            folders.append(name.rstrip("/"))
        found[path] = description.strip()
    return found


def modules() -> set[str]:
    """Every module of the packages and every test folder, as paths from the root."""
    return {
        str(file.relative_to(ROOT))
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        if file.name != "__init__.py" and "static" not in file.parts
    }


def test_the_map_shows_what_there_is() -> None:
    """Each path on the map exists, with a word about it."""
    for path, description in mapped().items():
        assert (ROOT / path).exists(), f"the map shows {path}, which is not there"
        assert description, f"the map says nothing about {path}"


def test_every_module_is_on_the_map() -> None:
    """A module that nobody mentions is a room that nobody finds."""
    assert modules() <= mapped().keys(), sorted(modules() - mapped().keys())


def test_every_setting_is_told_with_its_default() -> None:
    """One row per variable: name, default, meaning."""
    rows = dict(re.findall(r"^\| `(FMSVC_\w+)` \| `?(.*?)`? \|", README, re.MULTILINE))

    assert rows.keys() == {PREFIX + name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = "" if default in (None, ()) else str(default)
        assert rows[PREFIX + name.upper()] == shown
        assert field.description is not None
        assert field.description in README


def test_every_dependency_is_accounted_for() -> None:
    """What each saves and what it costs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = README.split("## Dependencies", 1)[1].split("\n## ", 1)[0]

    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)
        assert name is not None
        assert f"**{name[0]}**" in told, f"the README does not say why {name[0]} is here"
