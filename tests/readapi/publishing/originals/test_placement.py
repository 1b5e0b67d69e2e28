"""A track's audio lies on the artist's PDS or in the private store, as its access requires."""

from pathlib import Path

import pytest

from readapi.errors import TooLarge
from readapi.publishing.originals import placement
from readapi.state.publishing.file_keys import original_key
from readapi.state.state import State
from schemas.audio import RENDITION_TYPE
from schemas.bounds import MAX_AUDIO_BYTES
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess
from schemas.spaces import InSpace, Space
from tests.readapi.publishing.own_server import HOME, TRACK, Publishing, access
from tests.readapi.state.people import MARA
from tests.readapi.state.publishing.made import upload

OPEN, HEARD, OWNER = access(), access("public", "off"), access("owner", "off", "unlisted")
IN_SPACE = InSpace(MARA, TRACK.collection, TRACK.rkey, Space.own(MARA, TRACK.collection))


@pytest.fixture
async def publishing(state: State, tmp_path: Path) -> Publishing:
    return Publishing(state, tmp_path)


@pytest.mark.parametrize(
    ("track", "who", "with_record"),
    [(TRACK, OPEN, True), (TRACK, HEARD, False), (TRACK, OWNER, False), (IN_SPACE, OWNER, True)],
    ids=["open", "listening only", "owner only", "in a Space"],
)
def test_audio_that_the_pds_may_give_to_its_readers_lies_with_the_record(
    track: AtUri, who: TemplateAccess, with_record: bool
) -> None:
    """Blobs of a public repo are public; a Space restricts its own."""
    assert placement.lies_with_record(track, who) is with_record


@pytest.mark.parametrize(
    ("who", "members", "rendition"),
    [(OPEN, {"audioBlob"}, None), (HEARD, {"audioUrl"}, RENDITION_TYPE), (OWNER, {"audioUrl"}, None)],
    ids=["open", "listening only", "owner only"],
)
async def test_the_record_names_the_place_that_its_access_requires(
    publishing: Publishing, who: TemplateAccess, members: set[str], rendition: str | None
) -> None:
    """Listeners who may not download the original get a rendition; nobody else needs one."""
    song, content = publishing.sound(1.0)
    received = await publishing.received(TRACK, song, content)

    placed = await publishing.placing.place(
        received,
        TRACK,
        song,
        who,
        lambda: publishing.originals.take_in(received.id, song.file_id),
        received.id,
    )

    assert placed.members.keys() == members
    assert (placed.managed and placed.managed.rendition_type) == rendition
    assert await publishing.originals.has(song.file_id) is ("audioUrl" in members)


def test_new_audio_members_replace_all_that_a_record_had() -> None:
    """Never both places, so that nobody is sent to the former one. Other members stay."""
    placed = placement.Placed({"audioUrl": f"{HOME}/audio/new"}, None)

    assert placed.in_record({"title": "Song", "audioBlob": {}, "audioUrl": "old"}) == {
        "title": "Song",
        "audioUrl": f"{HOME}/audio/new",
    }


async def test_the_store_keeps_its_copy_until_the_record_names_the_blob(publishing: Publishing) -> None:
    """Placing copies; only `settle`, after the record was written, releases what it replaced."""
    song, content = publishing.sound(1.0)
    await publishing.keep(TRACK, song, content, OWNER)
    author = await upload(publishing.state)

    placed = await publishing.placing.place(author, TRACK, song, OPEN, _never)
    kept_meanwhile = await publishing.has(song)
    await publishing.placing.settle(TRACK, placed.managed)

    assert kept_meanwhile
    assert publishing.server.blobs.values()
    assert await publishing.originals.find(TRACK) is None


async def test_a_file_too_large_for_a_record_is_refused_before_it_is_sent(publishing: Publishing) -> None:
    song, content = publishing.sound(1.0)
    await publishing.keep(TRACK, song, content, OWNER)
    author = await upload(publishing.state)
    large = type(song)(song.file_id, MAX_AUDIO_BYTES + 1, song.file_type, song.mime_type, song.duration)

    with pytest.raises(TooLarge, match="MiB at most"):
        await publishing.placing.place(author, TRACK, large, OPEN, _never)

    assert publishing.server.blobs == {}
    assert await publishing.store.size(original_key(song.file_id)) is not None


async def _never() -> None:
    pytest.fail("audio for the PDS was taken into the private store")
