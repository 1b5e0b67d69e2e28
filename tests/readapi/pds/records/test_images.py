"""Pictures are told by how they begin, whatever they are called."""

import io

import pytest
from PIL import Image

from readapi.pds.records import images


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "gif"])
def test_what_browsers_show_is_known(kind: str) -> None:
    """As an encoder writes it."""
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, kind)

    assert images.media_type(file.getvalue()) == f"image/{kind}"


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"RIFF0000WAVE", b"BM", b"\x89PN", b"%PDF-1.7"])
def test_anything_else_is_no_picture(content: bytes) -> None:
    """A drawing with scripts in it, say."""
    assert images.media_type(content) is None
