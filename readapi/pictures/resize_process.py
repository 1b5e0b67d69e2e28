"""The sandboxed process for one untrusted picture: `python -m readapi.pictures.resize_process`.

It prints a JSON object: `made` with a WebP in base64 for each side, or `refused`.
"""

import contextlib
import io
import os
import resource
import sys
import warnings
from base64 import b64encode
from typing import BinaryIO, Final

import orjson
from PIL import Image, ImageCms, ImageOps

from readapi.audio.decoding import sandbox
from readapi.parent_watch import follow_parent
from schemas.pictures import LARGEST, SIDES, fit_picture

FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
MOST_PIXELS: Final = 50_000_000
QUALITY: Final = 80
_REFUSED: Final = "This is no picture that can be shown."


def main(path: str, cpu_seconds: int) -> None:
    """Make all sizes of the picture and print them."""
    opened = os.open(path, os.O_RDONLY)
    _import_all()
    sandbox.enter_sandbox()
    follow_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    try:
        with os.fdopen(opened, "rb") as file:
            made = make_sizes(file)
    except Exception:  # noqa: BLE001 - whatever a decoder raises for a hostile file, the file is refused
        reported: dict[str, object] = {"refused": _REFUSED}
    else:
        reported = {"made": {str(side): b64encode(content).decode() for side, content in made.items()}}
    sys.stdout.buffer.write(orjson.dumps(reported) + b"\n")
    sys.stdout.buffer.flush()


def make_sizes(file: BinaryIO) -> dict[int, bytes]:
    """A WebP for each of SIDES, without metadata. Raises what Pillow raises, and DecompressionBombWarning.

    Of an animation, the first frame.
    """
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    with Image.open(file, formats=FORMATS) as found:
        size = fit_picture(found.size, LARGEST)
        found.draft("YCbCr", (2 * size[0], 2 * size[1]))  # JPEG: decodes no more than is needed
        shown = ImageOps.exif_transpose(_in_srgb(found).resize(size, Image.Resampling.LANCZOS))
    return {side: _encode(shown, side) for side in SIDES}


def _in_srgb(found: Image.Image) -> Image.Image:
    """The picture in RGB, or RGBA if parts of it are transparent, by its colour profile if that is valid."""
    mode = "RGBA" if found.has_transparency_data else "RGB"
    profile = found.info.get("icc_profile")
    if profile and found.mode in ("RGB", "CMYK"):
        with contextlib.suppress(ImageCms.PyCMSError, OSError, TypeError):
            srgb = ImageCms.createProfile("sRGB")
            given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(found, given, srgb, outputMode="RGB")
            return found.convert(mode) if converted is None else converted
    return found.convert(mode)


def _encode(picture: Image.Image, side: int) -> bytes:
    made = io.BytesIO()
    size = fit_picture(picture.size, side)
    resized = picture if size == picture.size else picture.resize(size, Image.Resampling.LANCZOS)
    resized.save(made, "WEBP", quality=QUALITY, method=4, exif=b"", icc_profile=None, xmp=b"")
    return made.getvalue()


def _import_all() -> None:
    """Load every module and library that Pillow loads on first use: the sandbox lets no file be read."""
    Image.init()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for form in FORMATS:
        file = io.BytesIO()
        Image.new("RGB", (2, 2)).save(file, form, icc_profile=srgb)
        make_sizes(file)


if __name__ == "__main__":
    seconds, given = sys.argv[1:]
    main(given, int(seconds))
