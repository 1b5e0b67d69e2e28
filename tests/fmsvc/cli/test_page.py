"""docs/cli.md says what the program says, and its examples work."""

import asyncio
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from fmsvc.cli import exit_codes
from fmsvc.cli.commands import COMMANDS
from tests.fmsvc.cli.program import Program
from tests.fmsvc.cli.terminal import Result
from tests.network.person import Person
from tests.patience import PATIENCE_SECONDS
from tests.promises import documented
from tests.readapi.studio import Studio, template

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
# Run by test_account.py, test_command_line.py and tests/fmsvc/mcp; `discover` repeats `search` and `top`.
ELSEWHERE = {"login", "logout", "me", "completion", "mcp", "discover search", "discover top"}
# What stands for the id that a command prints.
MADE = {
    "playlists create": ("PLAYLIST", "id"),
    "albums create": ("ALBUM", "id"),
    "comments add": ("COMMENT", "id"),
    "publishing set": ("JOB", "job_id"),
}


def examples() -> list[list[str]]:
    """The words of each command on the page, in order, without the program's name."""
    blocks = re.findall(r"^```\n(fmsvc .*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [shlex.split(command.text)[1:] for block in blocks for command in documented.commands(block)]


def test_the_page_lists_the_commands() -> None:
    rows = (f"{path:27}{sentence}" for path, (_, sentence) in COMMANDS.items())
    assert "```\n{}\n```".format("\n".join(rows)) in PAGE.read_text()


def test_the_page_lists_the_exit_codes() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert rows == [f"| {code} | {meaning} |" for code, meaning in exit_codes.MEANINGS.items()]


def test_every_command_has_an_example() -> None:
    shown = {name for words in examples() for name in (words[0], " ".join(words[:2]))}
    assert COMMANDS.keys() - shown == ELSEWHERE - shown


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_the_examples_work(studio: Studio, song: Path, other_song: Path, tmp_path: Path) -> None:
    """In the order of the page, as one artist; `TRACK` and the like stand for ids."""
    artist = await studio.artist()
    person = Person(artist.account)
    program = Program(tmp_path, artist.door.address, artist.session)
    for name in ("track", "draft", "02_Flow"):
        shutil.copy(song, tmp_path / f"{name}.flac")
    shutil.copy(other_song, tmp_path / "01_Ebb.flac")
    (tmp_path / "music").mkdir()
    (tmp_path / "alone.json").write_text(json.dumps(template("owner", "off", "unlisted")))
    await studio.door.make_token(person, artist.session)
    [token] = await program.lines("tokens", "list")
    names = {"mara.example": artist.account.handle, "did:plc:…": artist.did, "TOKEN": str(token["id"])}
    for name in ("TRACK", "OTHER"):
        names[name] = str((await program.tell("tracks", "upload", "track.flac", name))["track_id"])
        await artist.track(int(names[name]))

    for words in examples():
        if words[0] in ELSEWHERE:
            continue
        command = " ".join(words[:2])
        if command == "tracks restore-revision":
            names["REVISION"] = str((await program.lines("tracks", "revisions", names["TRACK"]))[0]["id"])
        arguments = [names.get(word, word) for word in words]
        if command == "tracks delete":
            arguments[2] = names["OTHER"]
        if command == "albums delete":
            arguments[2] = await artist.make_album("Spare")
        if words[0] == "verify":
            arguments += ["--plc-url", studio.net.plc_url]
        result = await run_until_found(program, arguments)
        assert result.code == 0, (words, result)
        if command in MADE:
            name, member = MADE[command]
            names[name] = dict(line.split(": ", 1) for line in result.out.splitlines())[member]


async def run_until_found(program: Program, arguments: list[str]) -> Result:
    """Run a command, again while what was made a moment ago is not shown yet."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            result = await program.run(*arguments)
            if result.code != exit_codes.NOT_FOUND:
                return result
            await asyncio.sleep(0.1)
