"""The command line in a real terminal: questions, bars, colours, keys, pipes."""

import json
import re
import shutil
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.fmsvc.cli.terminal import Shell
from tests.fmsvc.cli.tmux import terminal
from tests.network.person import Person
from tests.readapi.studio import Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]

BAR = "\u2501\u2501\u2501"


async def test_from_signing_in_to_deleting(studio: Studio, song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    shutil.copy(song, tmp_path / "song.flac")
    (tmp_path / "public.json").write_text(json.dumps(template()))
    async with terminal(tmp_path, Shell(tmp_path, artist.door.address).environment()) as shell:
        await shell.start(f"fmsvc login --paste {artist.account.handle}")
        page = (await shell.wait_for(r"^(http\S+)$"))[1]
        back = urlencode(await Person(artist.account).agree(page))
        led = await studio.door.ask("GET", f"/auth/callback?{back}", Accept="text/html")
        await shell.wait_for(r"^Code: $")
        await shell.keys("-l", dict(parse_qsl(urlsplit(led.headers["Location"]).query))["exchange_token"])
        await shell.keys("Enter")
        code, screen = await shell.end()
        assert (code, f"Signed in as {artist.account.handle}." in screen) == (0, True)

        code, screen = await shell.run("fmsvc tracks upload song.flac 'Low tide' --publishing @public.json")
        assert (code, BAR in screen, await shell.is_coloured()) == (0, True, True)
        ref = re.findall(r"^track_id: (\d+)$", screen, re.MULTILINE)[0]
        await artist.track(int(ref))

        code, screen = await shell.run(f"fmsvc publishing set {ref} --publishing - < public.json")
        job = re.findall(r"^job_id: (\S+)$", screen, re.MULTILINE)[0]
        code, screen = await shell.run(f"fmsvc jobs watch {job}")
        assert (code, "status: completed\n" in screen) == (0, True)

        code, screen = await shell.run(f"NO_COLOR=1 fmsvc tracks download {ref}")
        assert (code, BAR in screen, await shell.is_coloured()) == (0, True, False)
        assert (tmp_path / "Low tide.flac").read_bytes() == song.read_bytes()
        code, screen = await shell.run(f"fmsvc tracks download {ref} --quiet -o quiet.flac 2> err")
        assert (code, (tmp_path / "err").read_text()) == (0, "")

        await shell.run("fmsvc tracks my --json | cat > lines; fmsvc tracks my | cat > table")
        [line] = (tmp_path / "lines").read_text().splitlines()
        assert json.loads(line)["id"] == int(ref)
        assert (
            "Low tide" in (tmp_path / "table").read_text(),
            "\x1b" in (tmp_path / "table").read_text(),
        ) == (
            True,
            False,
        )
        assert [(await shell.run(f"fmsvc tracks {words}"))[0] for words in ("get 1", "get x")] == [4, 2]

        for keys, expected in (("n", 1), ("C-c", 130), ("y", 0)):
            await shell.start(f"fmsvc tracks delete {ref}")
            await shell.wait_for(r"^Delete the track Low tide\? \[y/N\]")
            await shell.keys(*((keys,) if keys == "C-c" else (keys, "Enter")))
            assert (await shell.end())[0] == expected
        await artist.shows(f"/tracks/{ref}", lambda reply: reply.status == 404)
