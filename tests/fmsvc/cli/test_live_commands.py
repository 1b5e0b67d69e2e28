"""Every command against the whole service and a real PDS, as people who know plyrfm's commands type them."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.fmsvc.cli.program import Program
from tests.readapi.studio import Artist, Studio, template

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

ALONE = json.dumps(template("owner", "off", "unlisted"))


def program_of(artist: Artist, folder: Path, song: Path) -> Program:
    shutil.copy(song, folder / "track.flac")
    return Program(folder, artist.door.address, artist.session)


async def published(program: Program, artist: Artist, title: str, *more: str) -> str:
    """The id of a new track, once the API shows it."""
    done = await program.tell("tracks", "upload", "track.flac", title, *more)
    assert done["title"] == title
    await artist.track(done["track_id"])
    return str(done["track_id"])


# From plyrfm's own page.
DOCUMENTED = """
plyrfm tracks list
plyrfm tracks my
plyrfm tracks upload track.mp3 "Song Title"
plyrfm tracks download 42
"""


async def test_what_plyrfm_documents(studio: Studio, other_song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    program = Program(tmp_path, artist.door.address, artist.session)
    shutil.copy(other_song, tmp_path / "track.mp3")
    printed, ref = "", ""
    for line in DOCUMENTED.strip().splitlines():
        printed = await program.say(*shlex.split(line.replace("42", ref))[1:])
        if "upload" in line:
            ref = printed.split()[1]
            await artist.track(int(ref))

    assert printed == f"path: Song Title.mp3\nbytes: {other_song.stat().st_size}\n"


@pytest.mark.slow
async def test_tracks(studio: Studio, song: Path, other_song: Path, tmp_path: Path) -> None:
    """From the upload to the deletion."""
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    anonymous = Program(tmp_path, program.api_url)
    shutil.copy(other_song, tmp_path / "other.mp3")
    (tmp_path / "alone.json").write_text(ALONE)

    ref = await published(
        program, artist, "Low tide", "-t", "sea", "--tag", "field", "--publishing", "@alone.json"
    )
    own = await program.tell("tracks", "get", ref)
    assert (own["tags"], own["publishing"]["access"]["listening"]) == (["field", "sea"], "owner")
    assert [one["id"] for one in await program.lines("tracks", "my")] == [int(ref)]
    assert (await anonymous.run("tracks", "download", ref)).code == 4

    ref = await published(program, artist, "High tide")
    uri = (await program.tell("tracks", "get", ref))["atproto_record_uri"]
    assert "title: High tide\n" in await anonymous.say("tracks", "get", uri)
    assert [one["id"] for one in await anonymous.lines("tracks", "list", "--limit", "1")] == [int(ref)]
    assert "High tide" in await anonymous.say("tracks", "list")

    features = json.dumps([artist.account.handle])
    changes = ("--title", "Ebb", "--tags", "sea, slow", "--features", features, "--description", "Notes")
    changed = await program.tell("tracks", "update", ref, *changes)
    assert (changed["title"], changed["tags"], changed["description"]) == ("Ebb", ["sea", "slow"], "Notes")
    assert [one["did"] for one in changed["features"]] == [artist.did]
    assert (await program.tell("tracks", "update", uri, "--tags", ""))["tags"] == []

    assert (await program.run("tracks", "like", ref)).err == f"You like the track {ref}.\n"
    assert [one["id"] for one in await program.lines_until(int(ref), "tracks", "liked")] == [int(ref)]
    await program.lines_until(artist.did, "tracks", "likers", ref, name="did")
    await program.say("tracks", "unlike", ref)

    await program.say("tracks", "replace-audio", ref, "other.mp3")
    [revision] = await program.lines("tracks", "revisions", ref)
    restored = await program.run("tracks", "restore-revision", ref, str(revision["id"]))
    assert (restored.code, restored.out) == (2, "")
    await program.say("tracks", "restore-revision", ref, str(revision["id"]), "-y")

    saved = await anonymous.tell("tracks", "download", ref, "-o", "saved.flac")
    assert saved == {"path": "saved.flac", "bytes": song.stat().st_size}
    assert (tmp_path / "saved.flac").read_bytes() == song.read_bytes()

    refused = await program.run("tracks", "delete", ref)
    assert (refused.code, refused.err) == (
        2,
        "fmsvc: Delete the track Ebb? There is no terminal to ask at: give --yes.\n",
    )
    assert (await program.run("tracks", "delete", ref, "-y")).err == "Deleted the track Ebb.\n"
    await artist.shows(f"/tracks/{ref}", lambda reply: reply.status == 404)
    gone = await anonymous.run("tracks", "get", ref)
    assert (gone.code, gone.out) == (4, "")


@pytest.mark.slow
async def test_several_files_at_once(studio: Studio, song: Path, tmp_path: Path) -> None:
    """What fails is told, and stops no other. The service names no file that is there already."""
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    names = [f"0{number}_Part.flac" for number in range(1, 6)]
    for name in names:
        shutil.copy(song, tmp_path / name)

    sent = await program.run("tracks", "upload-files", *names, "missing.flac", "-t", "parts", "--json")
    tracks = [json.loads(line) for line in sent.out.splitlines()]
    assert (sent.code, sent.err) == (2, "fmsvc: missing.flac: There is no file missing.flac.\n")
    assert [one["title"] for one in tracks] == [f"0{number} Part" for number in range(1, 6)]

    ids = [str(one["track_id"]) for one in tracks]
    for track_id in ids:
        await artist.track(int(track_id))
    folder = tmp_path / "parts"
    folder.mkdir()
    ids.append(await published(program, artist, "05 Part"))
    saved = {one["path"] for one in await program.lines("tracks", "download", *ids, "-o", "parts")}
    assert saved == {str(path.relative_to(tmp_path)) for path in folder.iterdir()}
    [other] = saved - {f"parts/0{number} Part.flac" for number in range(1, 6)}
    assert other in [f"parts/05 Part {track_id}.flac" for track_id in ids[-2:]]

    again = await program.run("tracks", "download", ids[0], "-o", "parts")
    assert (again.code, again.err) == (
        1,
        "fmsvc: parts/01 Part.flac exists already: --output parts/01 Part.flac replaces it.\n",
    )
    several = await program.run("tracks", "download", *ids, "-o", "one.flac")
    assert (several.code, (tmp_path / "one.flac").exists()) == (2, False)


@pytest.mark.slow
async def test_playlists(studio: Studio, song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    ref = await published(program, artist, "First")
    made = await program.tell("playlists", "create", "Evenings")
    playlist = made["id"]
    await program.lines_until(playlist, "playlists", "list")

    assert (await program.tell("playlists", "add-track", playlist, ref))["track_count"] == 1
    shown = await program.tell("playlists", "get", playlist)
    assert [one["id"] for one in shown["tracks"]] == [int(ref)]
    assert "First" in await program.say("playlists", "get", playlist)
    archive = await program.tell("playlists", "download", playlist, "-o", str(tmp_path))
    assert archive["path"] == str(tmp_path / f"playlist-{playlist}.zip")
    archive = await program.tell("playlists", "download", playlist)
    assert (tmp_path / archive["path"]).stat().st_size == archive["bytes"] > 0
    await program.lines("playlists", "recommendations", playlist, "--limit", "2")
    await program.say("playlists", "update", playlist, "--name", "Nights", "--show-on-profile")
    [public] = await program.lines_until(playlist, "playlists", "by-artist", artist.did)
    assert public["name"] == "Nights"
    assert (await program.tell("playlists", "remove-track", playlist, ref))["track_count"] == 0
    await program.say("playlists", "delete", playlist, "--yes")
    assert (await program.run("playlists", "get", playlist)).code == 4


@pytest.mark.slow
async def test_albums_and_comments(studio: Studio, song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    album = (await program.tell("albums", "create", "Tides", "--description", "Old"))["id"]
    await artist.shows(f"/albums/by-id/{album}", lambda reply: reply.status == 200)
    ref = await published(program, artist, "First", "--album", "Tides")

    assert (await program.tell("albums", "update", album, "--description", "New"))["description"] == "New"
    await artist.shows(f"/albums/by-id/{album}", lambda reply: len(reply.json["tracks"]) == 1)
    assert "First" in await program.say("albums", "get", album)
    assert [one["id"] for one in await program.lines("albums", "list", "--artist", artist.did)] == [album]
    archive = await program.tell("albums", "download", album, "-o", str(tmp_path))
    assert archive["path"] == str(tmp_path / f"album-{album}.zip")
    archive = await program.tell("albums", "download", album)
    assert (tmp_path / archive["path"]).stat().st_size == archive["bytes"] > 0

    comment = (await program.tell("comments", "add", ref, "Here", "--at", "500"))["id"]
    await program.lines_until(comment, "comments", "list", ref)
    assert (await program.tell("comments", "update", str(comment), "There"))["text"] == "There"
    assert (await program.run("comments", "delete", str(comment))).code == 2
    await program.say("comments", "delete", str(comment), "-y")
    await program.say("albums", "delete", album, "-y")


@pytest.mark.slow
async def test_publishing_is_shown_tried_set_and_watched(studio: Studio, song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    ref = await published(program, artist, "First")

    assert "access.listening: public\n" in await program.say("publishing", "show", ref)
    tried = await program.say("publishing", "dry-run", ref, "-", typed=ALONE)
    refused = await program.run("publishing", "dry-run", ref, json.dumps(template("supporters")))
    assert [line.split() for line in tried.splitlines() if "listening" in line] == [
        ["access.listening", "public", "owner"]
    ]
    assert (refused.code, "Listening cannot be supporters" in refused.err) == (5, True)
    assert await program.lines("publishing", "choices")

    job = (await program.tell("publishing", "set", ref, ALONE))["job_id"]
    watched = await program.run("jobs", "watch", job, "--json")
    assert (watched.code, json.loads(watched.out)["updated_track_ids"]) == (0, [int(ref)])
    assert "status: completed\n" in await program.say("publishing", "set", ref, "--inherit", "--wait")
    for arguments in ((ref,), (ref, ALONE, "--inherit"), (ref, '{"access": 5}'), (ref, "@none.json")):
        assert (await program.run("publishing", "set", *arguments)).code == 2

    await program.say("preferences", "update", "--publishing", ALONE, "--no-scrobbling", "--show-playing")
    kept = await program.tell("preferences", "show")
    assert (kept["publishing_defaults"], kept["scrobbling"]) == (json.loads(ALONE), False)
    assert kept["show_playing"] is True


async def test_finding_profiles_totals_and_proofs(studio: Studio, song: Path, tmp_path: Path) -> None:
    artist = await studio.artist()
    program = program_of(artist, tmp_path, song)
    ref = await published(program, artist, "Kelpforest", "-t", "kelp")

    for command in (("search",), ("discover", "search")):
        found = await program.lines_until(
            int(ref), *command, "kelpforest", "--type", "tracks", "--limit", "2"
        )
        assert found[0]["title"] == "Kelpforest"
    assert "Kelpforest" in await program.say("search", "kelpforest")
    for command in (("top",), ("discover", "top")):
        assert len(await program.lines(*command, "--limit", "2")) <= 2
    await program.lines_until("kelp", "tags", "list", "--q", "kel", name="name")
    assert [one["id"] for one in await program.lines("tags", "get", "kelp")] == [int(ref)]
    assert "total_tracks: " in await program.say("stats")
    counted = await program.lines(
        "discover", "series", "tracks", "--bucket", "month", "--since", "2026-01-01"
    )
    assert counted[0].keys() == {"begins", "of", "title", "subject", "tracks"}

    changed = await program.tell("artists", "update", "--bio", "Tides", "--show-liked-on-profile")
    assert (changed["bio"], changed["show_liked_on_profile"]) == ("Tides", True)
    assert f"did: {artist.did}\n" in await program.say("artists", "me")
    assert (await program.tell("artists", "get", artist.did))["handle"] == artist.account.handle
    await program.lines("artists", "likes", artist.did)
    assert await program.lines("tokens", "list") == []
    assert (await program.run("tokens", "revoke", "none", "-y")).code == 4

    proved = await program.tell("verify", ref, "--plc-url", studio.net.plc_url)
    assert proved["record"]["title"] == "Kelpforest"
