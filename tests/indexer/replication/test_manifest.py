"""Manifests: what they may name, and the order in which it is shown."""

import random

import pytest
from pydantic import ValidationError

from indexer.replication.manifest import CopySet, Manifest, Piece, Stored, pieces_of, shown_last, stored_of

FILES = {
    "search/catalog/meta.json": Stored("index/a/1/2.bundle", 0, 10, 7),
    "search/catalog/0f.store": Stored("index/a/1/1.bundle", 5, 20, 8),
    "search/words/meta.json": Stored("index/a/1/2.bundle", 10, 11, 9),
}


def manifest(**fields: object) -> Manifest:
    """A manifest of FILES."""
    bundles, files = pieces_of(FILES)
    known = {
        "node": "a",
        "epoch": 1,
        "number": 1,
        "at": 0.0,
        "report": {},
        "bundles": bundles,
        "files": files,
    }
    return Manifest.model_validate(known | fields)


def test_a_manifest_says_where_each_file_is() -> None:
    """After its way through the store."""
    assert stored_of(Manifest.model_validate_json(manifest().encoded())) == FILES


@pytest.mark.parametrize(
    "path",
    [
        "search/catalog/../../secret.key",
        "/etc/passwd",
        "search/catalog/.lock",
        "search/other/a",
        "state/state.db",
        "secret.key",
    ],
)
def test_a_manifest_that_names_other_files_is_refused(path: str) -> None:
    """Whoever writes to the bucket writes to no other file of a follower."""
    with pytest.raises(ValidationError):
        manifest(files={path: Piece(0, 0, 1, 1)})
    with pytest.raises(ValidationError):
        CopySet(files={path: "index/a/lists/x"})
    with pytest.raises(ValidationError):
        CopySet(links={path: "snapshots/x.duckdb"})


def test_a_piece_of_no_bundle_is_refused() -> None:
    """Nor is another version's manifest taken for one of this."""
    with pytest.raises(ValidationError):
        manifest(files={"search/catalog/0f.store": Piece(2, 0, 1, 1)})
    with pytest.raises(ValidationError):
        manifest(files={"search/catalog/0f.store": Piece(-1, 0, 1, 1)})
    with pytest.raises(ValidationError):
        manifest(format=2)


def test_what_names_segments_is_shown_after_them_and_the_catalog_last() -> None:
    """As the indexer commits them."""
    paths = [
        "search/catalog/meta.json",
        "search/catalog/a.store",
        "search/words/meta.json",
        "search/social/b.idx",
    ]
    paths.append("search/social/meta.json")
    random.Random(1).shuffle(paths)

    ordered = sorted(paths, key=shown_last)

    assert ordered[2:] == ["search/words/meta.json", "search/social/meta.json", "search/catalog/meta.json"]
