"""Programs written for plyrfm 0.0.1a25 run with only the import changed: its usage, names and signatures."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

import fmsvc
from tests.readapi.studio import Studio

EXPORTS = (
    "Album Artist ArtistDid ArtistHandle ArtistProfile ArtistProfilePatch ArtistRef AsyncPlyrClient "
    "AudioRevision Playlist PlaylistId PlaylistRecommendations PlaylistWithTracks PlyrClient "
    "PublishingDefaults PublishingPolicy RecommendedTrack Track TrackId TrackPatch TrackRef TrackUri "
    "UploadResult __version__ "
)
# The methods of both of its clients with their parameters; those after `*` by name only, with `=` optional.
METHODS = {
    "close": "",
    "me": "",
    "tracks.list": "* limit=",
    "tracks.get": "track",
    "tracks.get_by_uri": "uri",
    "tracks.my": "* limit=",
    "tracks.liked": "* limit=",
    "tracks.like": "track",
    "tracks.unlike": "track",
    "tracks.upload": "file title * album= tags= publishing= description= timeout=",
    "tracks.replace_audio": "track file * timeout=",
    "tracks.revisions": "track",
    "tracks.restore_revision": "track revision_id",
    "tracks.update": "track patch",
    "tracks.delete": "track",
    "tracks.download": "track output= * timeout=",
    "playlists.list": "",
    "playlists.get": "playlist",
    "playlists.by_artist": "artist",
    "playlists.create": "name",
    "playlists.add_track": "playlist track",
    "playlists.remove_track": "playlist track",
    "playlists.update": "playlist * name= show_on_profile=",
    "playlists.delete": "playlist",
    "playlists.recommendations": "playlist * limit=",
    "tags.list": "* q= limit=",
    "tags.tracks": "tag * limit=",
    "artists.me": "",
    "artists.update": "patch",
    "discover.search": "query * type= limit=",
    "discover.top_tracks": "* limit=",
}
DEFAULT_LIMITS = {
    "tracks.list": 50,
    "tracks.my": 50,
    "tracks.liked": 50,
    "playlists.recommendations": 3,
    "tags.list": 20,
    "tags.tracks": 50,
    "discover.search": 20,
    "discover.top_tracks": 10,
}
FIELDS = {
    "Track": (
        "id title description file_id file_type artist artist_handle play_count like_count album "
        "image_url audio_url tags created_at unlisted visibility publishing policy_origin support_gate "
        "gated audio_storage pds_blob_cid original_file_id original_file_type atproto_uri atproto_cid "
    ),
    "Artist": "did handle display_name avatar_url",
    "ArtistProfile": (
        "did handle display_name bio avatar_url support_url show_liked_on_profile created_at updated_at "
    ),
    "ArtistProfilePatch": "bio display_name support_url show_liked_on_profile",
    "Album": "id title slug description image_url",
    "AudioRevision": (
        "id track_id created_at file_type original_file_type audio_storage duration was_gated "
    ),
    "Playlist": (
        "id name owner_did owner_handle track_count image_url show_on_profile atproto_record_uri created_at "
    ),
    "PlaylistWithTracks": "tracks",
    "PlaylistRecommendations": "tracks available",
    "RecommendedTrack": "id title artist_handle artist_display_name image_url",
    "PublishingPolicy": "listening downloads visibility",
    "PublishingDefaults": "access attach_rights",
    "TrackPatch": "title album features tags image description",
    "UploadResult": "track_id title",
    "SearchResponse": "results counts",
    "Tag": "name track_count",
}


def test_every_public_name_is_exported() -> None:
    assert [name for name in EXPORTS.split() if not hasattr(fmsvc, name)] == []


@pytest.mark.parametrize(("model", "fields"), FIELDS.items())
def test_every_attribute_is_there(model: str, fields: str) -> None:
    assert set(fields.split()) <= set(getattr(fmsvc, model).model_fields)


@pytest.mark.parametrize("kind", ["PlyrClient", "AsyncPlyrClient"])
@pytest.mark.parametrize(("method", "parameters"), METHODS.items())
def test_every_method_takes_the_same_arguments(kind: str, method: str, parameters: str) -> None:
    found: Any = getattr(fmsvc, kind)(api_url="https://music.example", token="")
    for name in method.split("."):
        found = getattr(found, name)
    signature = inspect.signature(found)
    by_position, _, by_name = parameters.partition("*")
    given: list[object] = [object() for _ in by_position.split()]
    signature.bind(*given, **{name.rstrip("="): object() for name in by_name.split()})
    required = [name for name in by_position.split() if not name.endswith("=")]
    signature.bind(*[object() for _ in required])
    if "limit=" in parameters:
        assert signature.parameters["limit"].default == DEFAULT_LIMITS[method]


def test_the_client_takes_the_same_arguments() -> None:
    with fmsvc.PlyrClient(
        token="t", api_url="https://music.example", timeout=3.0, user_agent="radio/1"
    ) as made:
        assert repr(made) == "<Client of https://music.example>"


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_the_documented_usage_works(
    studio: Studio, song: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program of its README, with an upload that is its own track, in a thread as it blocks."""
    artist = await studio.artist()
    monkeypatch.setenv("FMSVC_API_URL", studio.door.address)
    monkeypatch.setenv("FMSVC_TOKEN", artist.session)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "song.flac"
    file.write_bytes(song.read_bytes())

    def program() -> Path:
        client = fmsvc.PlyrClient(token="")
        for t in client.tracks.list(limit=5):
            assert f"{t.id}: {t.title} by {t.artist}"
        client.close()

        client = fmsvc.PlyrClient()
        done = client.tracks.upload(str(file), "My Song")
        assert [track.id for track in client.tracks.my()] == [done.track_id]
        track = client.tracks.get(done.track_id)
        assert (track.atproto_uri or "").startswith(f"at://{client.me()['did']}/")
        assert track.created_at is not None
        path = client.tracks.download(done.track_id)
        client.close()
        return path

    path = await asyncio.to_thread(program)
    assert path.resolve() == (tmp_path / "My Song.flac").resolve()
    assert path.read_bytes() == song.read_bytes()
