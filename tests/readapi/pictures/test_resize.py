"""Sizes are made of every common kind of picture, and of nothing else."""

import io
from pathlib import Path

import pytest
from PIL import Image

from readapi.pictures.resize import resize_picture

SCENE = Image.linear_gradient("L").resize((1200, 900)).convert("RGB")


def encoded(picture: Image.Image, form: str, **options: object) -> bytes:
    """The file of a picture."""
    made = io.BytesIO()
    picture.save(made, form, **options)
    return made.getvalue()


def turned() -> Image.Exif:
    """What a camera that was held upright writes."""
    said = Image.Exif()
    said[0x0112], said[0x010F] = 6, "Somebody's camera"
    return said


# Made by the tests that want them: every process imports this file.
SHOWN = {
    "jpeg": lambda: encoded(SCENE, "JPEG"),
    "jpeg in CMYK": lambda: encoded(SCENE.convert("CMYK"), "JPEG"),
    "png of 16 bits": lambda: encoded(SCENE.convert("I").convert("I;16"), "PNG"),
    "gif that moves": lambda: encoded(SCENE, "GIF", save_all=True, append_images=[SCENE.rotate(90)] * 3),
    "avif": lambda: encoded(SCENE, "AVIF"),
}
REFUSED = {
    "svg": lambda: b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>',
    "tiff": lambda: encoded(SCENE, "TIFF"),
    "bomb": lambda: encoded(Image.new("1", (30_000, 30_000)), "PNG"),
    "broken": lambda: encoded(SCENE, "JPEG")[:3000],
    "empty": lambda: b"",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the picture lies."""
    return tmp_path / "picture"


@pytest.mark.parametrize("kind", SHOWN)
async def test_every_size_is_made_of_a_picture(kind: str, path: Path) -> None:
    """Within its square, in the proportions of the original."""
    path.write_bytes(SHOWN[kind]())

    made = await resize_picture(path)

    assert made is not None
    read = {side: Image.open(io.BytesIO(content)) for side, content in made.items()}
    assert {side: (picture.format, picture.size) for side, picture in read.items()} == {
        96: ("WEBP", (96, 72)),
        300: ("WEBP", (300, 225)),
        800: ("WEBP", (800, 600)),
    }
    assert all(getattr(picture, "n_frames", 1) == 1 for picture in read.values())


async def test_pictures_stand_upright_and_tell_nothing_of_the_camera(path: Path) -> None:
    """What the metadata says of the orientation is done; the metadata is dropped."""
    path.write_bytes(encoded(SCENE, "JPEG", exif=turned()))

    made = await resize_picture(path)

    assert made is not None
    assert Image.open(io.BytesIO(made[300])).size == (225, 300)
    assert b"camera" not in made[300]


async def test_what_is_transparent_stays_so_and_small_pictures_stay_small(path: Path) -> None:
    """Nothing is enlarged."""
    path.write_bytes(encoded(Image.new("RGBA", (40, 20), (255, 0, 0, 100)), "PNG"))

    made = await resize_picture(path)

    assert made is not None
    assert {
        (Image.open(io.BytesIO(one)).size, Image.open(io.BytesIO(one)).mode) for one in made.values()
    } == {((40, 20), "RGBA")}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.slow
async def test_nothing_is_made_of_anything_else(kind: str, path: Path) -> None:
    """Neither of what is no picture nor of one that would take all the memory."""
    path.write_bytes(REFUSED[kind]())

    assert await resize_picture(path) is None
