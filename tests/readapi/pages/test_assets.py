"""Static files: names that change with the content, and borrowed files that have not been touched."""

import hashlib

from readapi.pages.assets import FOLDER, Assets
from readapi.routes.pages import docs


def test_a_changed_file_has_a_new_address(tmp_path):
    """An unchanged one keeps its own."""
    (tmp_path / "a.css").write_text("a {}")
    first, same = Assets(tmp_path)["a.css"], Assets(tmp_path)["a.css"]
    (tmp_path / "a.css").write_text("b {}")

    assert first == same == f"/static/a.{hashlib.sha256(b'a {}').hexdigest()[:12]}.css"
    assert Assets(tmp_path)["a.css"] != first


def test_only_what_pages_load_is_served(tmp_path):
    """Licences and notes lie beside the files and stay there."""
    (tmp_path / "LICENSE").write_text("free")
    (tmp_path / "notes.txt").write_text("read me")
    (tmp_path / "a.js").write_text("1")

    assets = Assets(tmp_path)

    assert assets.find("notes.txt") is None
    assert assets.find(assets["a.js"].removeprefix("/static/")).content_type.startswith("text/javascript")


def test_borrowed_files_are_those_that_were_published():
    """Their hashes are written beside them, with where they come from."""
    folder = FOLDER / "vendor" / "swagger-ui"
    listed = [
        line.split()
        for line in (folder / "ORIGIN.txt").read_text().splitlines()
        if line.endswith((".js", ".css"))
    ]

    assert {name for _, name in listed} == {
        path.name for path in folder.iterdir() if path.suffix in (".js", ".css")
    }
    for digest, name in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_short_description_lists_what_can_be_read():
    """Each route once, under its heading."""
    openapi = b'{"paths":{"/a":{"get":{"tags":["one"],"summary":"Read"},"head":{}},"/b":{"post":{}}}}'

    assert docs.list_sections(openapi) == {"one": [docs.Route("/a", "Read")]}
