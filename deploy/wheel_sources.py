"""The folders that the wheel of fmsvc-server contains, which stand above its pyproject.toml.

Whole folders, so that no package and no data file has to be listed. An editable install copies nothing:
copies would hide later changes of the tree.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("indexer", "lexicons", "readapi", "schemas")


class WheelSources(BuildHookInterface[Any]):
    """Hatchling calls `initialize` before it builds a wheel, `version` being `standard` or `editable`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"] |= {f"../{folder}": folder for folder in FOLDERS}
