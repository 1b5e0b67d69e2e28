"""What somebody chose for what they publish from then on, and which audiences they may choose."""

import json
from pathlib import Path

import pytest

from tests.readapi.studio import Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.slow
async def test_the_portals_template_applies_to_what_is_published(studio: Studio, song: Path) -> None:
    """With the rights that it attaches; what was published before keeps its own snapshot."""
    mara, ben = await studio.artist(), await studio.artist()
    before = await mara.publish(song)
    chosen = {
        "publishing_defaults": template("signed_in") | {"attach_rights": True},
        "scrobbling": False,
        "rights": {"masterOwner": {"name": "Tide Records"}},
        "show_playing": True,
    }

    put = await mara.ask("PUT", "/preferences/", chosen)
    after = await mara.publish(song)

    assert put.json == chosen
    assert (await mara.ask("GET", "/preferences/")).json == chosen
    assert (await ben.ask("GET", "/preferences/")).json == {
        "publishing_defaults": template(),
        "scrobbling": False,
        "rights": None,
        "show_playing": False,
    }
    assert (after["publishing"], after["policy_origin"]) == (chosen["publishing_defaults"], "portal")
    assert (await mara.record(after["uri"]))["rights"] == chosen["rights"]
    assert (await mara.track(before["id"]))["publishing"] == template()


async def test_saved_rights_stay_until_something_is_said_of_them(studio: Studio) -> None:
    """A client that knows nothing of rights takes none away; null does."""
    mara = await studio.artist()
    chosen = {"publishing_defaults": template(), "scrobbling": False}
    rights = {"masterOwner": {"name": "Tide Records"}}
    await mara.ask("PUT", "/preferences/", {**chosen, "rights": rights})

    kept = await mara.ask("PUT", "/preferences/", chosen)
    dropped = await mara.ask("PUT", "/preferences/", {**chosen, "rights": None})

    assert kept.json["rights"] == rights
    assert dropped.json["rights"] is None


@pytest.mark.parametrize(
    ("sent", "status", "detail"),
    [
        ({"publishing_defaults": template()}, 422, "invalid_request"),
        ({"publishing_defaults": None, "scrobbling": False}, 422, "invalid_request"),
        ({"publishing_defaults": template(), "scrobbling": False, "theme": "dark"}, 422, "invalid_request"),
        ({"publishing_defaults": template("supporters"), "scrobbling": False}, 422, "audience_unavailable"),
        (
            {"publishing_defaults": template() | {"attach_rights": True}, "scrobbling": False},
            422,
            "invalid_request",
        ),
        (
            {
                "publishing_defaults": template() | {"attach_rights": True},
                "scrobbling": False,
                "rights": {"parties": []},
            },
            422,
            "invalid_request",
        ),
        (
            {
                "publishing_defaults": template(),
                "scrobbling": False,
                "rights": {"master_owner": {"name": "Tide"}},
            },
            422,
            "invalid_request",
        ),
        (
            {"publishing_defaults": template(), "scrobbling": False, "rights": {"isrc": "USRC17607839"}},
            422,
            "invalid_request",
        ),
        ({"publishing_defaults": template(), "scrobbling": True}, 403, "scope_upgrade_required"),
    ],
)
@pytest.mark.slow
async def test_preferences_are_taken_whole_or_refused(
    studio: Studio, sent: dict[str, object], status: int, detail: str
) -> None:
    """And stay as they were."""
    mara = await studio.artist()

    refused = await mara.ask("PUT", "/preferences/", sent)

    assert (refused.status, refused.json["detail"]) == (status, detail), json.dumps(refused.json)
    assert (await mara.ask("GET", "/preferences/")).json["publishing_defaults"] == template()


async def test_capabilities_say_what_is_not_available_and_why(studio: Studio) -> None:
    """Nobody to ask about supporters, and a server without Spaces."""
    mara = await studio.artist()

    told = (await mara.ask("GET", "/capabilities")).json

    unavailable = {name: said["reason"] for name, said in told["audiences"].items() if not said["available"]}
    assert unavailable == {
        "supporters": "This service cannot check who supports an artist.",
        "space": "Your server does not offer private Spaces.",
    }
    assert told["audiences"]["public"] == {"available": True, "reason": None}
    assert not told["downloads"]["supporters"]["available"]
    assert told["downloads"]["ask"]["available"]
    assert (await studio.door.ask("GET", "/capabilities")).status == 401
