"""`fmsvc login`, `logout` and `me`, against a real service and a real PDS."""

import asyncio
import json
import stat
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
import pytest

from tests.fmsvc.cli.program import Program
from tests.fmsvc.cli.terminal import Shell
from tests.network.person import Person
from tests.patience import PATIENCE_SECONDS
from tests.readapi.door import Door

PAGE = {"Accept": "text/html,*/*;q=0.8"}

pytestmark = pytest.mark.network


@pytest.fixture
def shell(door: Door, tmp_path: Path) -> Shell:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part\nmv {opened}.part {opened}\n')
    browser.chmod(0o700)
    return Shell(tmp_path, door.address, {"BROWSER": str(browser)})


def program_of(shell: Shell) -> Program:
    """What needs no browser costs no process of its own."""
    return Program(shell.home, shell.api_url)


async def find_page(shell: Shell) -> str:
    """The address that the browser was opened at."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if (opened := shell.home / "opened").exists():
                break
            await asyncio.sleep(0.05)
    page = opened.read_text()
    opened.unlink()
    return page


async def lead_back(door: Door, back: dict[str, str]) -> str:
    """Where the browser is sent after the callback."""
    led = await door.ask("GET", f"/auth/callback?{urlencode(back)}", **PAGE)
    assert led.status == 303, led.json
    return led.headers["Location"]


async def visit(address: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as browser, browser.get(address) as answer:
        return answer.status, await answer.text()


async def sign_in(shell: Shell, door: Door, person: Person, *more: str) -> tuple[str, str]:
    """`fmsvc login`, and the person at the browser; returns what it printed."""
    process = await shell.start("login", person.account.handle, *more)
    listener = await lead_back(door, await person.agree(await find_page(shell)))
    status, page = await visit(listener)
    assert (status, "You can close this window." in page) == (200, True)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err
    return out.decode(), err.decode()


@pytest.mark.slow
async def test_a_person_signs_in_and_out(shell: Shell, door: Door, person: Person) -> None:
    """The session is in a file of the owner's alone, and is worth nothing after `logout`."""
    out, err = await sign_in(shell, door, person, "--json")
    path = shell.home / "fmsvc" / "tokens.json"
    kept = json.loads(path.read_text())
    me = await program_of(shell).run("me", "--json")
    shown = await program_of(shell).run("me")
    ended = await program_of(shell).run("logout")
    after = await program_of(shell).run("me")
    again = await program_of(shell).run("logout")

    assert json.loads(out) == {"did": person.account.did, "handle": person.account.handle}
    assert f"Signed in as {person.account.handle}." in err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(kept) == [door.address]
    assert kept[door.address] not in out + err
    assert json.loads(me.out)["did"] == person.account.did
    assert f"handle: {person.account.handle}\n" in shown.out
    assert (ended.code, ended.err) == (0, "Signed out.\n")
    assert (await door.me(kept[door.address])).status == 401
    assert (after.code, after.out) == (3, "")
    assert after.err == "fmsvc: Not signed in: run fmsvc login, or set FMSVC_TOKEN.\n"
    assert (again.code, again.err) == (0, "No session is kept.\n")


@pytest.mark.slow
async def test_signing_in_again_ends_the_former_session(shell: Shell, door: Door, person: Person) -> None:
    await sign_in(shell, door, person)
    path = shell.home / "fmsvc" / "tokens.json"
    former = json.loads(path.read_text())[door.address]
    await sign_in(shell, door, person)
    session = json.loads(path.read_text())[door.address]

    assert [(await door.me(one)).status for one in (former, session)] == [401, 200]


@pytest.mark.slow
async def test_a_code_is_pasted_where_no_browser_is(shell: Shell, door: Door, person: Person) -> None:
    process = await shell.start("login", "--paste", person.account.handle)
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        await process.stderr.readline()
        page = (await process.stderr.readline()).decode().strip()
        arrived = await lead_back(door, await person.agree(page))
        code = dict(parse_qsl(urlsplit(arrived).query))["exchange_token"]
        _, err = await process.communicate(f"{code}\n".encode())

    assert process.returncode == 0, err
    assert not (shell.home / "opened").exists()
    assert (await program_of(shell).run("me")).code == 0


async def test_a_wrong_code_signs_nobody_in(shell: Shell, person: Person) -> None:
    wrong = await program_of(shell).run("login", "--paste", person.account.handle, typed="x" * 43 + "\n")
    none = await program_of(shell).run("login", "--paste", person.account.handle)

    assert (wrong.code, none.code) == (3, 2)
    assert "This exchange token was used already, or is older than a minute." in wrong.err
    assert not (shell.home / "fmsvc").exists()


@pytest.mark.slow
async def test_a_listener_takes_only_its_own_state(shell: Shell, door: Door, person: Person) -> None:
    """A page that guesses the port can neither end the sign-in nor slip in a code of its own."""
    process = await shell.start("login", person.account.handle)
    listener = await lead_back(door, await person.agree(await find_page(shell)))
    parts = urlsplit(listener)
    bare = f"http://{parts.netloc}{parts.path}"

    forged = [await visit(address) for address in (bare, f"{bare}?code=x&state=y", f"{bare}?error=z")]
    status, _ = await visit(listener)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await process.communicate()

    assert [code for code, _ in forged] == [404, 404, 404]
    assert (status, process.returncode) == (200, 0)


@pytest.mark.slow
async def test_whoever_refuses_is_told(shell: Shell, door: Door, person: Person) -> None:
    process = await shell.start("login", person.account.handle)
    await visit(await lead_back(door, await person.refuse(await find_page(shell))))
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, err = await process.communicate()

    assert process.returncode == 3
    assert err.decode().endswith("fmsvc: Access was denied on your server.\n")


async def test_a_token_of_the_environment_is_sent(shell: Shell, door: Door, person: Person) -> None:
    """And is neither kept nor ended."""
    session = await door.sign_in(person)
    other = Program(shell.home, door.address, session)

    me, ended = await other.run("me", "--json"), await other.run("logout")

    assert json.loads(me.out)["did"] == person.account.did
    assert (ended.code, (await door.me(session)).status) == (0, 200)
