"""docs/cli.md says what the program says."""

import dataclasses
from pathlib import Path

from fmsvc.cli import exit_codes
from tests.fmsvc.cli.terminal import Shell

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


async def test_the_page_shows_the_help(tmp_path: Path) -> None:
    shell = dataclasses.replace(Shell(tmp_path, ""), variables={"COLUMNS": "80", "NO_COLOR": "1"})
    printed = await shell.run("--help")

    assert f"```\n{printed.out.strip()}\n```" in PAGE.read_text()


def test_the_page_lists_the_exit_codes() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert rows == [f"| {code} | {meaning} |" for code, meaning in exit_codes.MEANINGS.items()]
