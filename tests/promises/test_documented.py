"""Every command and code block in README and docs works: what can be run is run against one service in use.

`ON_THE_MACHINE` lists what is not run, each with its reason; the files, settings and commands of ours that it
names are checked. A block in a language without a runner fails.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from readapi.__main__ import app
from schemas.settings import PREFIX, Settings
from tests.network import media, server
from tests.network.person import Person
from tests.network.testnet import Network, Testnet
from tests.patience import PATIENCE_SECONDS
from tests.promises import documented
from tests.promises.documented import ROOT, Block
from tests.readapi.studio import Artist, Studio, open_studio

ADDRESS, ELSEWHERE, BACKUPS = "http://127.0.0.1:8000", "https://music.example/", "/backups/"
PLC = "https://plc.directory"
RUN = {"curl", "fmsvc", "fmsvc-server", "make", "openssl"}
ON_THE_MACHINE = {
    "useradd": "changes the machine's users",
    "install": "writes to /etc",
    "systemctl": "needs systemd as the first process",
    "systemd-run": "needs systemd as the first process",
    "/opt": "half a gigabyte; what is tested was installed from a lock with the same versions",
    "podman": "needs a container builder",
}
# `serve` is started by other tests: here its settings are read as it reads them.
SERVE = """#!/bin/sh
test "$*" = serve && exec {python} -c '
import os
from readapi.oauth.metadata import ClientMetadata
from schemas.settings import PREFIX, Settings
ClientMetadata.of(Settings.from_environment(os.environ))
known = {{PREFIX + name.upper() for name in Settings.model_fields}}
assert not {{name for name in os.environ if name.startswith(PREFIX)}} - known
'
exec {python} -m readapi "$@"
"""
CLIENT = """#!/bin/sh
FMSVC_API_URL={address} exec {python} -m fmsvc "$@"
"""
# Commands within sentences that want a stopped service or something to work on, and the tests that run them.
RUN_ELSEWHERE = {
    "publish-lexicons ACCOUNT": "tests/features/operating/test_publish_lexicons.py",
    "serve": "tests/network/server.py",
    "serve --follow": "tests/features/operating/test_cluster.py",
    "follow": "tests/features/operating/test_cluster.py",
    "index": "tests/promises/process.py",
    "snapshots": "tests/features/operating/test_cluster.py",
    "flight": "tests/readapi/sql/test_flight.py",
    "work": "tests/promises/test_publishing_kill.py",
    "backup": "tests/promises/test_backup.py",
    "restore": "tests/promises/test_backup.py",
    "rebuild": "tests/readapi/test_main.py",
    "migrate": "tests/features/operating/test_file_modes.py",
    "trash restore FILE_ID": "tests/readapi/publishing/originals/test_trash.py",
}
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
# Other tests run those of docs/engines.md, of docs/questions.md and of Flight SQL.
PROGRAMS = [
    block
    for block in documented.blocks()
    if block.language == "python"
    and block.page not in ("docs/engines.md", "docs/questions.md")
    and "flightsql" not in block.text
]
SHELL = [block for block in documented.blocks() if block.language == "sh"]


@dataclass(slots=True)
class Reader:
    """Types what is shown. `names`: what stands for what on the page; `folder`: where they are."""

    studio: Studio
    artist: Artist
    variables: dict[str, str]
    names: dict[str, str]
    folder: Path

    async def type(self, text: str, **settings: str) -> str:
        """Run a line as a shell does; what it prints."""
        for told in sorted(self.names, key=len, reverse=True):
            text = text.replace(told, self.names[told])
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            text,
            env={**self.variables, **settings},
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        printed, said = await process.communicate()
        assert process.returncode == 0, f"{text}: {process.returncode} {printed.decode()}{said.decode()}"
        return printed.decode()

    async def ask(self, text: str, told: Any) -> Any:
        """Type a request until its answer is as it is told: what is counted follows a moment later."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = json.loads(await self.type(text))
            wrong = None if told is None else documented.difference(told, found)
            if wrong is None:
                return found
            assert time.monotonic() < until, f"{text}: {wrong}"
            assert not re.search("POST|--json", text), f"{text}: {wrong}"  # answered once
            await asyncio.sleep(0.2)

    async def learn(self, found: dict[str, Any]) -> None:
        """Keep what a program needs for the next request of signing in, from the answer to the last."""
        if "auth_url" in found:
            token = await self.studio.door.arrive(Person(self.artist.account), found["auth_url"])
            self.names['{"exchange_token": "…"}'] = json.dumps({"exchange_token": token})
        if "session_id" in found:
            self.names["Bearer …"] = f"Bearer {found['session_id']}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(network: Network, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reader]:
    """Beside a service with one track that is liked, with a command line that names it."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "backups").mkdir()
    (folder / ".curlrc").write_text("silent\nshow-error\nfail-with-body\nnoproxy=*\n")
    programs = folder / "bin"
    programs.mkdir()
    python = shlex.quote(sys.executable)
    (programs / "fmsvc-server").write_text(SERVE.format(python=python))
    (programs / "fmsvc-server").chmod(0o755)
    data_dir = folder / "data"
    async with Testnet.connect(network) as net, open_studio(net, data_dir) as studio:
        artist = await studio.artist()
        done = await artist.upload(media.tone(2, 440), title="Harbour Lights", tags="ambient")
        assert done["status"] == "completed", done
        track = await artist.track(done["track_id"])
        assert (await artist.ask("POST", f"/tracks/{track['id']}/like")).status == 200
        (programs / "fmsvc").write_text(CLIENT.format(address=studio.door.address, python=python))
        (programs / "fmsvc").chmod(0o755)
        token = await studio.door.make_token(Person(artist.account), artist.session, "reader")
        port = int(studio.door.address.rpartition(":")[2])
        variables = {
            **server.settings(net, data_dir, port),
            "HOME": str(folder),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        names = {
            ADDRESS: studio.door.address,
            "{id}": str(track["id"]),
            "{month_before}": "2026-02-01",
            "{first_day}": "2026-02-01",
            "{end}": "2026-03-01",
            "at://…": track["uri"],
            "mara.example": artist.account.handle,
            "Bearer fmsvc_…": f"Bearer {token}",
            BACKUPS: f"{folder}/backups/",
        }
        yield Reader(studio, artist, variables, names, folder)


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("block", SHELL, ids=str)
@pytest.mark.slow
async def test_commands_do_what_is_shown(reader: Reader, block: Block) -> None:
    """Requests are answered as it is told; `serve` takes its settings; a backup is made and restored."""
    for number, command in enumerate(documented.commands(block.text)):
        program = next(word for word in shlex.split(command.text) if "=" not in word)
        if program == "curl" or command.answer is not None:
            need("curl" if program == "curl" else "sh")
            found = await reader.ask(command.text, command.answer)
            await reader.learn(found if isinstance(found, dict) else {})
        elif program == "make":
            await reader.type(f"cd {ROOT} && {command.text.replace('make', 'make --dry-run')}")
        elif "fmsvc-server restore" in command.text:
            empty = reader.folder / f"{block.page}-{number}".replace("/", "-")
            await reader.type(command.text, FMSVC_DATA_DIR=str(empty))
        elif program in RUN:
            need("sh" if program.startswith("fmsvc") else program)
            await reader.type(command.text)
        else:
            check_unrun(command.text)


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("block", PROGRAMS, ids=str)
@pytest.mark.slow
async def test_programs_run(reader: Reader, block: Block) -> None:
    """As the artist of the service, with a recording beside them."""
    (reader.folder / "song.wav").write_bytes(media.tone(2, 660))
    program = reader.folder / "program.py"
    text = block.text.replace(PLC, reader.studio.net.plc_url)
    for address in (ADDRESS, ELSEWHERE.rstrip("/")):
        text = text.replace(address, reader.studio.door.address)
    program.write_text(text)
    service = {"FMSVC_API_URL": reader.studio.door.address, "FMSVC_TOKEN": reader.artist.session}
    printed = await reader.type(f"{sys.executable} {program}", **service)
    assert printed.strip() or "assert" in text


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
async def test_commands_within_sentences_work(reader: Reader) -> None:
    """Beside the service that they are about; others are run by tests that are named."""
    for text in documented.inline("fmsvc-server"):
        command = text.removeprefix("fmsvc-server ")
        if command not in RUN_ELSEWHERE:
            await reader.type(text)
        else:
            assert f'"{command.split()[0]}"' in (ROOT / RUN_ELSEWHERE[command]).read_text()


@pytest.mark.parametrize("text", documented.inline("fmsvc-server"))
def test_commands_within_sentences_are_those_of_the_server(text: str) -> None:
    """With the options and arguments that are named; a placeholder is an argument."""
    command = text.removeprefix("fmsvc-server ")
    given = {"backup": ["FOLDER"], "restore": ["FOLDER"]}.get(command, [])
    parse([*shlex.split(command), *given])


def test_targets_of_make_are_there() -> None:
    """Those that sentences name."""
    named = [text.split() for text in documented.inline("make") if "…" not in text]

    assert named
    assert {words[1] for words in named} <= set(TARGETS)


def test_what_is_not_run_is_listed_for_operators_too() -> None:
    """By the same names, in the section that says so."""
    section = (ROOT / "docs" / "operations.md").read_text().split("## What no test runs", 1)[1]

    assert {name for name in ON_THE_MACHINE if f"`{name}`" not in section} == set()


def test_every_language_has_a_runner() -> None:
    """This file's: shell, and one test for each of the others; those of SQL and of scripts are elsewhere."""
    assert {block.language for block in documented.blocks()} == {"sh", "html", "yaml", "python", "sql", "js"}


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="module")
async def test_the_iframe_shown_is_the_one_of_oembed(reader: Reader) -> None:
    """Attribute by attribute, but for the address and the title."""
    [block] = [block for block in documented.blocks() if block.language == "html"]
    page = f"{reader.studio.door.address}/track/{reader.names['{id}']}"
    given = (await reader.artist.ask("GET", f"/oembed?url={page}")).json["html"]
    told, found = attributes(block.text), attributes(given)

    path = told["src"].removeprefix(ELSEWHERE).replace("{id}", reader.names["{id}"])
    assert (await reader.artist.ask("GET", f"/{path}")).status == 200
    assert {**told, "src": None, "title": None} == {**found, "src": None, "title": None}


def test_prometheus_takes_the_configuration_shown(tmp_path: Path) -> None:
    """With the rules beside it."""
    [block] = [block for block in documented.blocks() if block.language == "yaml"]
    shutil.copy(ROOT / "deploy" / "prometheus-rules.yml", tmp_path)
    (tmp_path / "prometheus.yml").write_text(block.text)

    done = subprocess.run(
        [need("promtool"), "check", "config", str(tmp_path / "prometheus.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("told", "found", "fits"),
    [
        ('{"a":1,…}', {"a": 1, "b": 2}, True),
        ('{"a":1}', {"a": 1, "b": 2}, False),
        ('{"a":…,"b":2}', {"a": [], "b": 2}, True),
        ('{"a":…}', {"b": 2}, False),
        ('[{"a":1},…]', [{"a": 1}, {"a": 2}], True),
        ('[{"a":1}]', [{"a": 1}, {"a": 1}], False),
        ('[{"a":1},…]', [], False),
        ('{"a":"<b …>"}', {"a": "<b c='d'>"}, True),
        ('{"a":"<b …>"}', {"a": "<c>"}, False),
    ],
)
def test_answers_are_compared_as_they_are_told(told: str, found: Any, fits: bool) -> None:
    """`…` stands for anything, and for nothing but that."""
    assert (documented.difference(documented.answer(told), found) is None) is fits


def check_unrun(text: str) -> None:
    """A command of the machine: its files are there, its variables are settings, our command in it is one."""
    words = [word for word in shlex.split(text) if word != "sudo"]
    reasons = [name for name in ON_THE_MACHINE if words[0] == name or any(name in word for word in words)]
    assert reasons, f"{text}: no runner, and no reason"
    for word in words:
        assert not word.startswith(("deploy/", "./")) or (ROOT / word).exists(), word
        for variable in re.findall(rf"\b{PREFIX}(\w+)=", word):
            assert variable.lower() in Settings.model_fields, variable
    ours = [number for number, word in enumerate(words) if word.endswith("fmsvc-server")]
    if ours:
        parse(words[ours[0] + 1 :])


def parse(words: list[str]) -> None:
    """Raises when the server has no such command, option or argument."""
    app.parse_args(words, print_error=False, exit_on_error=False)


def attributes(html: str) -> dict[str, str]:
    """Those of the first tag."""
    found: list[dict[str, str]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: found.append(  # type: ignore[method-assign]
        {"": tag, **{name: value or "" for name, value in attrs}}
    )
    reader.feed(html)
    return found[0]


def need(program: str) -> str:
    """CI has it; elsewhere tests that want it are skipped."""
    found = shutil.which(program)
    if found is None:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell(f"no {program} is installed")
    return found
