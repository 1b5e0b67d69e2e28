"""Whatever the bytes, a person can read something of them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.control import report
from tests.network.forge import ForgedRepo, info_frame


def test_a_frame_is_shown_in_its_parts() -> None:
    """Header and body, with CIDs as text and long bytes cut."""
    repo = ForgedRepo(seed="ana")
    written = repo.create("fm.svc.like", {"createdAt": "2025-01-01T00:00:00Z"}, rkey="one")

    shown = report.explain_bytes(repo.commit_frame(7))

    header, body = (orjson.loads(part) for part in shown.replace("}\n{", "}\0{").split("\0"))
    assert header == {"op": 1, "t": "#commit"}
    assert body["seq"] == 7
    assert body["ops"][0]["cid"] == f"cid({written.cid})"
    assert body["blocks"].endswith(" bytes")


def test_json_is_shown_as_it_is() -> None:
    """What a Jetstream sends."""
    assert orjson.loads(report.explain_bytes(b'{"kind":"commit"}')) == {"kind": "commit"}


@pytest.mark.parametrize("raw", [b"", b"\xff\x00 text", b"{not json", info_frame()[:-1]])
def test_anything_else_is_shown_as_hex(raw: bytes) -> None:
    """Sixteen bytes a row, with what can be read beside them."""
    shown = report.explain_bytes(raw)

    assert bytes.fromhex("".join(row[10:58] for row in shown.splitlines())) == raw


def test_rows_of_hex_say_where_they_are() -> None:
    """The offset first, the text last."""
    assert report.explain_bytes(b"\xff" * 16 + b"ab").splitlines()[1] == f"00000010  {'61 62':<48} ab"


@given(st.binary())
def test_it_never_raises(raw: bytes) -> None:
    """These are the bytes that nothing else could read."""
    assert isinstance(report.explain_bytes(raw), str)
