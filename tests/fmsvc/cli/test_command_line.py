"""What holds for every command: exit codes, where things are printed, and what never reaches a terminal."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fmsvc import errors, tokens
from fmsvc.cli import exit_codes, output
from fmsvc.cli.app import app
from fmsvc.cli.commands import COMMANDS
from fmsvc.cli.output import Output
from fmsvc.errors import FmsvcError
from tests.fmsvc.cli.program import Program
from tests.fmsvc.cli.terminal import Shell
from tests.patience import PATIENCE_SECONDS

HOSTILE = "a\x1b]0;owned\x07\x9b31m\u202etxt.exe\r\nb\x7f\u2028"
SAFE = "a\ufffd]0;owned\ufffd\ufffd31m\ufffdtxt.exe\ufffd\ufffdb\ufffd\ufffd"


# Every command of plyrfm 0.0.1a25, with each of its options.
PLYRFM = """
tracks list --limit 5
tracks get 42
tracks get at://did:plc:a/fm.plyr.track/b
tracks upload track.mp3 "Song Title" --album A --tag a -t b --publishing {} --description D
tracks update 42 --title T --album A --tags a,b --features [] --image i.png --description ''
tracks delete 42 --yes
tracks delete 42 -y
tracks download 42 --output song.mp3
tracks download 42 -o song.mp3
tracks replace-audio 42 track.mp3
tracks revisions 42
tracks restore-revision 42 7 -y
tracks like 42
tracks unlike 42
tracks my --limit 5
tracks liked --limit 5
playlists list
playlists get p
playlists create Name
playlists add-track p 42
playlists remove-track p 42
playlists update p --name N --show-on-profile
playlists update p --no-show-on-profile
playlists delete p -y
tags list --q a --limit 5
tags get ambient --limit 5
artists me
artists update --bio B --display-name N --support-url U --show-liked-on-profile
discover search sea --type tracks --limit 5
discover top --limit 5
me
""".strip().splitlines()


@pytest.fixture
async def answers(tmp_path: Path) -> AsyncIterator[tuple[Program, dict[str, Any]]]:
    """A service that answers every request with the JSON and status of `found`."""
    found: dict[str, Any] = {"status": 200}

    async def answer(request: web.Request) -> web.Response:
        text = found["json"] if isinstance(found["json"], str) else json.dumps(found["json"])
        return web.Response(text=text, status=found["status"], content_type="application/json")

    service = web.Application()
    service.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(service)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield Program(tmp_path, f"http://127.0.0.1:{runner.addresses[0][1]}", "t"), found
    await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "code"), [(401, 3), (404, 4), (403, 5), (429, 6), (500, 7), (503, 7), (409, 1), (302, 1)]
)
async def test_a_refusal_has_its_exit_code(
    answers: tuple[Program, dict[str, Any]], status: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service's sentence goes to stderr, in one line whatever is in it."""
    monkeypatch.setattr("fmsvc._sync.http.backoff", lambda _attempt: 0.0)
    monkeypatch.setattr("fmsvc.answers.backoff", lambda _attempt: 0.0)
    program, found = answers
    found |= {"json": {"detail": "some_code", "message": HOSTILE}, "status": status}

    for command in (("me",), ("tracks", "list"), ("tracks", "like", "5")):
        result = await program.run(*command, "--json")
        assert (result.code, result.out, result.err) == (code, "", f"fmsvc: {SAFE}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError("x"), exit_codes.USAGE),
        (errors.MissingFileError("x"), exit_codes.USAGE),
        (errors.UnreachableError("x"), exit_codes.UNAVAILABLE),
        (errors.ProofError("x"), exit_codes.UNPROVEN),
        (errors.PublishingError("x"), exit_codes.FAILED),
    ],
)
def test_what_no_answer_says_has_its_exit_code_too(error: FmsvcError, code: int) -> None:
    assert exit_codes.find_exit_code(error) == code


async def test_an_unknown_type_is_a_wrong_argument(answers: tuple[Program, dict[str, Any]]) -> None:
    program, _ = answers
    result = await program.run("search", "sea", "--type", "tracks,song")

    assert result.code == exit_codes.USAGE
    assert result.err == "fmsvc: --type takes some of tracks, artists, albums, playlists, tags, not song.\n"


async def test_a_file_of_another_hash_is_not_kept(answers: tuple[Program, dict[str, Any]]) -> None:
    program, found = answers
    found["json"] = TRACK | {"title": "../../Sea", "file_id": f"bafkrei{'a' * 52}"}
    (program.folder / "music").mkdir()

    result = await program.run("tracks", "download", "5", "-o", "music")

    assert (result.code, result.out) == (exit_codes.UNPROVEN, "")
    assert list(program.folder.rglob("*")) == [program.folder / "music"]


async def test_a_name_from_the_service_stays_in_the_folder(
    answers: tuple[Program, dict[str, Any]],
) -> None:
    program, found = answers
    found["json"] = TRACK | {"title": "../\x1b[31m.bashrc", "file_type": "/../sh"}

    result = await program.run("tracks", "download", "5", "--json")

    assert json.loads(result.out)["path"] == "31mbashrc"
    assert [path.name for path in program.folder.iterdir()] == ["31mbashrc"]


@pytest.mark.parametrize("body", ["", "[]", "{", "<html>", "null", "5"])
async def test_an_answer_of_another_shape_is_a_failure(
    answers: tuple[Program, dict[str, Any]], body: str
) -> None:
    program, found = answers
    found["json"] = body

    for command in (("me",), ("tracks", "list"), ("tracks", "get", "5"), ("stats",)):
        result = await program.run(*command)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("fmsvc: The service")


TRACK = {"id": 5, "title": HOSTILE, "artist": HOSTILE, "file_id": "x", "tags": [HOSTILE]}
COMMENT = {"id": 5, "uri": "", "user_did": "", "user_handle": HOSTILE, "text": HOSTILE, "timestamp_ms": 0}
FOUND = {"type": "tag", "id": 5, "name": HOSTILE, "track_count": 1, "relevance": 1}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (("me",), {"did": HOSTILE, "handle": HOSTILE}),
        (("tracks", "list"), {"tracks": [TRACK]}),
        (("tracks", "get", "5"), TRACK),
        (("tracks", "delete", "5", "-y"), TRACK),
        (("tracks", "delete", "5"), TRACK),
        (("comments", "list", "5"), {"comments": [COMMENT | {"created_at": "2026-01-02T03:04:05Z"}]}),
        (("search", "sea"), {"results": [FOUND], "counts": {}}),
        (("jobs", "watch", HOSTILE), {"job_id": HOSTILE, "status": "failed", "message": HOSTILE}),
    ],
)
async def test_texts_of_strangers_drive_no_terminal(
    answers: tuple[Program, dict[str, Any]], command: tuple[str, ...], answer: dict[str, Any]
) -> None:
    program, found = answers
    found["json"] = answer

    shown, told = await program.run(*command), await program.run(*command, "--json")

    printed = shown.out + shown.err + told.out + told.err
    assert SAFE in shown.out + shown.err
    assert {character for character in printed if output.safe(character) != character} == {"\n"}
    assert not told.out or HOSTILE in texts(json.loads(told.out))


def texts(found: Any) -> list[str]:
    """Every text in JSON."""
    if isinstance(found, (dict, list)):
        members = found.values() if isinstance(found, dict) else found
        return [text for member in members for text in texts(member)]
    return [found] if isinstance(found, str) else []


async def test_wrong_usage_is_told(tmp_path: Path) -> None:
    address = "http://127.0.0.1:9"
    for arguments, api_url, said in (
        (("me",), "", "No service is named: set FMSVC_API_URL"),
        (("me",), "ftp://x", "must begin with https://"),
        (("mcp",), "", "FMSVC_API_URL"),
        (("me", "--no-such"), address, "Unknown option"),
        (("no-such",), address, "Unknown command"),
        (("tracks", "no-such"), address, "Unknown command"),
        (("login",), address, "HANDLE"),
        (("tracks", "get", "five"), address, "five is no track"),
        (("tracks", "list", "--limit", "0"), address, "Must be >= 1"),
        (("tracks", "upload", "none.mp3", "x"), address, "There is no file none.mp3"),
        (
            ("tracks", "upload", "a", "x", "--publishing", "{"),
            address,
            "The publishing settings are not usable",
        ),
        (("tracks", "upload", "a", "x", "--features", "{}"), address, "--features is no JSON list"),
        (("playlists", "get", ".."), address, "A dot is no id"),
    ):
        result = await Program(tmp_path, api_url, "t").run(*arguments)
        assert (result.code, result.out) == (exit_codes.USAGE, ""), arguments
        assert said in result.err


async def test_a_service_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmsvc._sync.http.backoff", lambda _attempt: 0.0)
    result = await Program(tmp_path, "http://127.0.0.1:9", "t").run("tracks", "list")

    assert (result.code, result.out) == (exit_codes.UNAVAILABLE, "")
    assert (
        result.err == "fmsvc: http://127.0.0.1:9/tracks/ cannot be reached: no connection, or no such host.\n"
    )


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
@pytest.mark.slow
async def test_completion_names_the_commands(tmp_path: Path, shell_name: str) -> None:
    result = await Program(tmp_path, "").run("completion", shell_name)

    assert (result.code, result.err) == (0, "")
    assert "restore-revision" in result.out


@pytest.mark.parametrize("typed", PLYRFM)
def test_plyrfms_commands_are_understood(typed: str) -> None:
    """With the arguments and options that it documents; test_live_commands.py runs them."""
    app.parse_args(shlex.split(typed), print_error=False, exit_on_error=False)


def test_help_says_what_the_functions_say() -> None:
    for path, (_, sentence) in COMMANDS.items():
        command = app
        for name in path.split():
            command = command[name]
        function = command.default_command
        assert function is not None
        assert sentence == str(command.help) == str(function.__doc__).splitlines()[0]


async def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    """As `head` is, when it has read its lines."""
    shell = Shell(tmp_path, "")
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fmsvc", "completion", "bash"),
        stdout=writer,
        stderr=asyncio.subprocess.PIPE,
        env=shell.environment(),
    )
    os.close(writer)
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, err = await process.communicate()

    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("stop", "interrupts"),
    [
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_IGN),  # in the background of a script
    ],
)
async def test_an_interrupted_download_leaves_nothing(
    tmp_path: Path, stop: signal.Signals, interrupts: signal.Handlers
) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/download"):
            return web.json_response({"id": 5, "title": "Sea", "file_id": "x"})
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"half")
        started.set()
        await ended.wait()
        return response

    service = web.Application()
    service.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(service)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    folder = tmp_path / "music"
    folder.mkdir()
    shell = Shell(tmp_path, f"http://127.0.0.1:{runner.addresses[0][1]}", {"FMSVC_TOKEN": "t"})

    process = await shell.start("tracks", "download", "5", "-o", str(folder), interrupts=interrupts)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await started.wait()
        process.send_signal(stop)
        _, err = await process.communicate()
    ended.set()
    await runner.cleanup()

    assert (process.returncode, err, list(folder.iterdir())) == (exit_codes.INTERRUPTED, b"", [])


def test_help_imports_no_client() -> None:
    """What a command needs is imported when it runs."""
    program = (
        "import sys; from fmsvc.cli import run;"
        "[run(words.split()) for words in ('--version', '--help', 'tracks --help', 'tracks upload --help')];"
        "late = ('httpx2', 'keyring', 'webbrowser', 'mcp', 'pydantic', 'cryptography');"
        "print([name for name in late if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == "[]"


def test_lists_are_lines_of_json_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Never because of a pipe."""
    items = [{"id": 1, "title": HOSTILE}, {"id": 2, "title": "[bold]b[/]"}]
    Output(json=True).rows(items, ("id", "title"))
    lines = capsys.readouterr().out.splitlines()
    Output().rows(items, ("id", "title"))
    table = capsys.readouterr().out

    assert [json.loads(line) for line in lines] == items
    assert "[bold]b[/]" in table
    assert SAFE in table
    assert "\x1b" not in table


def test_quiet_keeps_remarks_back(capsys: pytest.CaptureFixture[str]) -> None:
    Output(quiet=True).say("done")
    Output().say("done\x1b")
    assert capsys.readouterr().err == "done\ufffd\n"


def test_every_exit_code_has_a_meaning() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert codes == set(exit_codes.MEANINGS)


class TestTokens:
    """Kept by the address of the service, in a file, where there is no keyring."""

    @pytest.fixture(autouse=True)
    def _own_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        monkeypatch.delenv("FMSVC_TOKEN", raising=False)
        monkeypatch.setattr(tokens, "_of_keyring", lambda api_url: None)
        monkeypatch.setattr(tokens, "_put_in_keyring", lambda api_url, token: False)

    def test_each_service_gets_its_own(self) -> None:
        tokens.keep_token("https://a", "1")
        tokens.keep_token("https://b", "2")
        tokens.forget_token("https://a")

        assert [tokens.find_token(address) for address in ("https://a", "https://b")] == [None, "2"]

    def test_a_file_that_others_may_read_is_refused(self) -> None:
        tokens.keep_token("https://a", "1")
        tokens.file_path().chmod(0o640)

        with pytest.raises(FmsvcError, match="Other users may read"):
            tokens.find_token("https://a")

    @pytest.mark.parametrize("text", ["", "{", "[]", "5"])
    def test_a_broken_file_is_told(self, text: str) -> None:
        tokens.keep_token("https://a", "1")
        tokens.file_path().write_text(text)

        with pytest.raises(FmsvcError, match="cannot be read"):
            tokens.find_token("https://a")


def test_safe_keeps_other_scripts() -> None:
    assert output.safe("Åse 東京 🎵 עברית é") == "Åse 東京 🎵 עברית é"
