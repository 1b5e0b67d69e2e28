"""Programs of others read our pages: micawber from PyPI asks /oembed, unfurl.js from npm discovers it."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import micawber
import pytest

from tests.features.pages.published import HOSTILE, MARKUP, PRIVATE, SLOW, SUPPORTERS, Published
from tests.network.testnet import NODE

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONSUMERS = Path(__file__).parents[2] / "consumers"


async def asked_by_micawber(site: Published, url: str, **wanted: int) -> dict[str, Any]:
    """What micawber gets for an address of ours."""
    registry = micawber.ProviderRegistry()
    registry.register(rf"{site.address}/\S+", micawber.Provider(f"{site.address}/oembed"))
    found: dict[str, Any] = await asyncio.to_thread(registry.request, url, **wanted)
    return found


async def unfurled(url: str) -> dict[str, Any]:
    """What unfurl.js learns of a page."""
    if not (CONSUMERS / "node_modules" / "unfurl.js").is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("unfurl.js is not installed: npm --prefix tests/consumers ci --ignore-scripts")
    process = await asyncio.create_subprocess_exec(
        NODE, CONSUMERS / "unfurl.cjs", url, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, complaint = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, complaint.decode()
    learnt: dict[str, Any] = json.loads(said)
    return learnt


async def test_micawber_gets_a_player_for_tracks_albums_and_playlists(site: Published):
    """Within the width that it asks for."""
    for path, title in (
        (f"/track/{site.track(SLOW)}", "Slow Water"),
        ("/u/mara.example/album/ninety-nights", "Ninety Nights"),
        (f"/playlist/{site.list('ben')}", "Evening"),
    ):
        told = await asked_by_micawber(site, site.address + path, maxwidth=300)
        assert (told["type"], told["title"], told["width"]) == ("rich", title, 300)
        assert told["html"].startswith(f'<iframe src="{site.address}/embed/')


async def test_micawber_puts_players_into_text(site: Published):
    """A link on a line of its own becomes the frame."""
    registry = micawber.ProviderRegistry()
    registry.register(rf"{site.address}/\S+", micawber.Provider(f"{site.address}/oembed"))
    link = f"{site.address}/track/{site.track(SLOW)}"

    made = await asyncio.to_thread(micawber.parse_text, f"Listen:\n{link}\nGood.", registry)

    assert made.splitlines()[1].startswith(f'<iframe src="{site.address}/embed/track/')


async def test_micawber_is_refused_what_is_private(site: Published):
    """As if there were nothing."""
    with pytest.raises(micawber.ProviderException):
        await asked_by_micawber(site, f"{site.address}/track/{site.track(PRIVATE)}")


async def test_unfurl_discovers_the_document_of_a_track(site: Published):
    """By the link in the page: frame, thumbnail, OpenGraph and player card agree."""
    learnt = await unfurled(f"{site.address}/track/{site.track(SLOW)}")

    assert learnt["title"] == "Slow Water by Mara Lindqvist – fmsvc"
    assert learnt["canonical_url"] == f"{site.address}/track/{site.track(SLOW)}"
    assert learnt["oEmbed"]["type"] == "rich"
    assert learnt["oEmbed"]["title"] == "Slow Water"
    assert f"/embed/track/{site.track(SLOW)}" in learnt["oEmbed"]["html"]
    assert learnt["oEmbed"]["thumbnails"][0]["width"] == 64
    assert learnt["open_graph"]["title"] == "Slow Water"
    assert learnt["open_graph"]["type"] == "music.song"
    assert learnt["open_graph"]["images"][0]["url"].startswith(f"{site.address}/img/")
    assert learnt["twitter_card"]["card"] == "player"
    assert learnt["twitter_card"]["players"][0]["url"] == f"{site.address}/embed/track/{site.track(SLOW)}"


async def test_unfurl_discovers_lists_and_their_players(site: Published):
    """Pages and players lead to the same document."""
    page = await unfurled(f"{site.address}/u/mara.example/album/ninety-nights")
    player = await unfurled(f"{site.address}/embed/album/mara.example/ninety-nights")
    playlist = await unfurled(f"{site.address}/playlist/{site.list('ben')}")

    assert page["oEmbed"] == player["oEmbed"]
    assert (page["oEmbed"]["height"], page["open_graph"]["type"]) == (380, "music.album")
    assert (playlist["oEmbed"]["title"], playlist["open_graph"]["type"]) == ("Evening", "music.playlist")


async def test_unfurl_reads_hostile_titles_as_they_were_written(site: Published):
    """Escaped once, everywhere."""
    learnt = await unfurled(f"{site.address}/track/{site.track(HOSTILE)}")

    assert learnt["oEmbed"]["title"] == MARKUP
    assert learnt["open_graph"]["title"] == MARKUP


async def test_unfurl_learns_of_no_audio_that_is_not_for_everybody(site: Published):
    """The track can be embedded; its sound is nowhere."""
    learnt = await unfurled(f"{site.address}/track/{site.track(SUPPORTERS)}")

    assert learnt["oEmbed"]["title"] == "For Supporters"
    assert "getBlob" not in json.dumps(learnt)
