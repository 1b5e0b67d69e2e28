"""The files that the demo uploads are what they say they are."""

import io
import wave

from PIL import Image

from tests.network import media


def test_a_tone_lasts_as_long_as_asked() -> None:
    """Two seconds are two seconds, and different tones are different files."""
    file = media.tone(2.0, 440)

    with wave.open(io.BytesIO(file)) as sound:
        assert sound.getnframes() / sound.getframerate() == 2.0
        assert len(set(sound.readframes(1000))) > 50
    assert file != media.tone(2.0, 450)


def test_a_cover_has_the_size_and_colours_asked_for() -> None:
    """An independent decoder reads the stripes back."""
    file = media.cover(64, 48, (10, 20, 30), (200, 100, 0))

    with Image.open(io.BytesIO(file)) as image:
        assert (image.format, image.size) == ("PNG", (64, 48))
        assert image.getpixel((0, 0)) == (10, 20, 30)
        assert image.getpixel((8, 47)) == (200, 100, 0)
