"""Programs that others generate from the description: linted, compiled, and used against a live service."""

import compileall
import importlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_python_client.cli import app as generator
from typer.testing import CliRunner

from readapi.http.openapi.document import api_endpoints, describe_api
from readapi.processes.app import all_endpoints
from readapi.routes.api.exports import PARQUET
from tests.network.testnet import NODE
from tests.readapi.music import Music
from tests.readapi.threaded import threaded

CONSUMERS = Path(__file__).parents[2] / "consumers"
MODULES = CONSUMERS / "node_modules"
STRICT = ["--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions", "--target", "es2023"]
AS_NODE = ("--module", "nodenext")


@pytest.fixture(scope="module")
def threaded_music(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Music]:
    with threaded(tmp_path_factory.mktemp("music")) as served:
        yield served


@pytest.fixture
def description(tmp_path: Path) -> Path:
    """The description as it is served, in a file."""
    path = tmp_path / "openapi.json"
    path.write_bytes(describe_api(api_endpoints(all_endpoints()), "https://api.example"))
    return path


def node(folder: Path, *arguments: str | Path) -> str:
    """What one of the programs that npm installed prints."""
    if not MODULES.is_dir():
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("they are not installed: npm --prefix tests/consumers ci --ignore-scripts")
    done = subprocess.run([NODE, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_redocly_and_spectral_find_no_errors(description: Path):
    """By the rules that each recommends."""
    found: list[dict[str, Any]] = json.loads(node(CONSUMERS, "lint.mjs", description))

    assert [one for one in found if one["isError"]] == []


@pytest.mark.slow
def test_the_python_client_compiles_and_is_understood(
    threaded_music: Music, description: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every module of it, and ten operations."""
    config = tmp_path / "config.yml"
    # The generator knows no archives and tables: to it they are bytes like any others.
    as_bytes = [f"{kind}: application/octet-stream" for kind in ("application/zip", PARQUET)]
    config.write_text(f"post_hooks: []\ncontent_type_overrides: {{{', '.join(as_bytes)}}}\n")
    where = ["--path", str(description), "--output-path", str(tmp_path / "generated"), "--meta", "none"]
    made = CliRunner().invoke(generator, ["generate", *where, "--config", str(config), "--fail-on-warning"])
    assert made.exit_code == 0, made.output
    assert compileall.compile_dir(tmp_path / "generated", quiet=1)
    monkeypatch.syspath_prepend(tmp_path)

    for module in sorted((tmp_path / "generated").rglob("*.py")):
        importlib.import_module(".".join(module.relative_to(tmp_path).with_suffix("").parts))
    # There is no TLS here, so that no certificates need to be found.
    with importlib.import_module("generated").Client(
        base_url=threaded_music.address, verify_ssl=False
    ) as client:
        ask_ten(client)


def ask_ten(client: Any) -> None:
    """Ten operations of the generated client, and what they answer."""

    def call(operation: str, **arguments: object) -> Any:
        return importlib.import_module(f"generated.api.{operation}").sync(client=client, **arguments)

    page = call("tracks.list_tracks", limit=2)
    first = page.tracks[0]

    assert len(call("tracks.list_tracks", limit=2, cursor=page.next_cursor).tracks) == 2
    assert call("tracks.get_track", track_id=first.id) == first
    assert call("tracks.get_track", track_id=first.atproto_record_uri) == first
    assert call("tracks.track_by_uri", uri=first.atproto_record_uri) == first
    assert call("tracks.get_track", track_id="none").detail == "not_found"
    assert len(call("tracks.top_tracks")) > 0
    assert call("tracks.list_tags") is not None
    assert call("tracks.track_likes", track_id=first.id).users is not None
    assert call("tracks.track_comments", track_id=first.id).comments is not None
    assert call("artists.get_artist", artist=first.artist_did).did == first.artist_did
    assert len(call("search.search", q=first.title).results) > 0
    assert call("data.totals").total_tracks > 0
    assert call("reactions.play_track", track_id=first.id).play_count >= first.play_count


@pytest.mark.slow
def test_the_typescript_client_compiles_and_is_understood(
    threaded_music: Music, description: Path, tmp_path: Path
):
    """As strictly as TypeScript checks, and ten operations."""
    (tmp_path / "node_modules").symlink_to(MODULES)
    shutil.copy(CONSUMERS / "operations.mts", tmp_path)
    node(tmp_path, MODULES / "openapi-typescript/bin/cli.js", description, "-o", "api.ts")
    node(tmp_path, MODULES / "typescript/bin/tsc", *STRICT, *AS_NODE, "operations.mts")
    told = json.loads(node(tmp_path, "operations.mts", threaded_music.address))
    number, did = told.pop("first")

    assert (told["by_uri"], told["artist"], told["track"]) == (number, did, True)
    assert (told["page"], told["rest"], told["nothing"]) == (2, 2, "not_found")
    assert told["top"] > 0
    assert told["found"] > 0
