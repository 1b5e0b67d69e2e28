"""What holds for every command: exit codes, where things are printed, and what never reaches a terminal."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from fmsvc import tokens
from fmsvc.cli import exit_codes, output
from fmsvc.cli.app import app
from fmsvc.cli.output import Output
from fmsvc.errors import FmsvcError
from tests.fmsvc.cli.terminal import Shell

HOSTILE = "a\x1b]0;owned\x07\x9b31m\u202etxt.exe\r\nb\x7f\u2028"
SAFE = "a\ufffd]0;owned\ufffd\ufffd31m\ufffdtxt.exe\ufffd\ufffdb\ufffd\ufffd"


@pytest.fixture
async def answers(tmp_path: Path) -> AsyncIterator[tuple[Shell, dict[str, web.Response]]]:
    """A service whose `/auth/me` answers with `found["me"]`."""
    found: dict[str, web.Response] = {}

    async def answer(request: web.Request) -> web.Response:
        return found["me"]

    service = web.Application()
    service.router.add_get("/auth/me", answer)
    runner = web.AppRunner(service)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield Shell(tmp_path, address, {"FMSVC_TOKEN": "t"}), found
    await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "code"), [(401, 3), (404, 4), (403, 5), (429, 6), (500, 7), (503, 7), (409, 1), (302, 1)]
)
async def test_a_refusal_has_its_exit_code(
    answers: tuple[Shell, dict[str, web.Response]], status: int, code: int
) -> None:
    """The service's sentence goes to stderr, in one line whatever is in it."""
    shell, found = answers
    found["me"] = web.json_response({"detail": "some_code", "message": HOSTILE}, status=status)

    result = await shell.run("me", "--json")

    assert (result.code, result.out, result.err) == (code, "", f"fmsvc: {SAFE}\n")


@pytest.mark.parametrize("body", ["", "[]", "{", "<html>", "null", "5"])
async def test_an_answer_of_another_shape_is_a_failure(
    answers: tuple[Shell, dict[str, web.Response]], body: str
) -> None:
    shell, found = answers
    found["me"] = web.Response(text=body, content_type="application/json")

    result = await shell.run("me")

    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("fmsvc: The service")


async def test_names_of_strangers_drive_no_terminal(
    answers: tuple[Shell, dict[str, web.Response]],
) -> None:
    shell, found = answers
    account = {"did": "did:plc:a", "handle": "h", "display_name": HOSTILE}

    found["me"] = web.json_response(account)
    shown = await shell.run("me")
    found["me"] = web.json_response(account)
    told = await shell.run("me", "--json")

    assert shown.out == f"did: did:plc:a\nhandle: h\ndisplay_name: {SAFE}\n"
    assert json.loads(told.out)["display_name"] == HOSTILE
    assert told.out.removesuffix("\n").isascii()
    assert told.out.removesuffix("\n").isprintable()


async def test_a_service_that_is_not_there(tmp_path: Path) -> None:
    shell = Shell(tmp_path, "http://127.0.0.1:9", {"FMSVC_TOKEN": "t"})
    result = await shell.run("me")

    assert (result.code, result.err) == (
        7,
        "fmsvc: The service at http://127.0.0.1:9 cannot be reached.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "api_url", "said"),
    [
        (("me",), "", "No service is named: set FMSVC_API_URL"),
        (("me",), "ftp://x", "must begin with https://"),
        (("mcp",), "", "FMSVC_API_URL"),
        (("me", "--no-such"), "http://127.0.0.1:9", "Unknown option"),
        (("no-such",), "http://127.0.0.1:9", "Unknown command"),
        (("login",), "http://127.0.0.1:9", "HANDLE"),
    ],
)
async def test_wrong_usage_is_told(
    tmp_path: Path, arguments: tuple[str, ...], api_url: str, said: str
) -> None:
    result = await Shell(tmp_path, api_url, {"FMSVC_TOKEN": "t"}).run(*arguments)

    assert (result.code, result.out) == (exit_codes.USAGE, "")
    assert said in result.err


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
async def test_completion_names_the_commands(tmp_path: Path, shell_name: str) -> None:
    result = await Shell(tmp_path, "").run("completion", shell_name)

    assert (result.code, result.err) == (0, "")
    assert "logout" in result.out


def test_help_of_the_tree_is_that_of_the_functions() -> None:
    for name in ("login", "logout", "me", "mcp", "completion"):
        command = app[name]
        assert command.default_command is not None
        assert str(command.help).splitlines()[0] == str(command.default_command.__doc__).splitlines()[0]


def test_help_imports_no_client() -> None:
    """What a command needs is imported when it runs."""
    program = (
        "import sys; from fmsvc.cli import run; run(['--help']);"
        "late = ('httpx2', 'keyring', 'webbrowser', 'mcp', 'pydantic');"
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
