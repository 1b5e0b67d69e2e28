"""Names of downloads are safe, and told as browsers read them."""

from urllib.parse import unquote

import pytest

from readapi.audio.file_names import attachment_header, file_name


@pytest.mark.parametrize(
    ("artist", "title", "file_type", "name"),
    [
        ("Mara", "Low tide", "mp3", "Mara - Low tide.mp3"),
        ("Møra", "潮", "FLAC", "Møra - 潮.flac"),
        ("../..", "/etc/passwd", "mp3", ".. .. - etc passwd.mp3"),
        ('a"b', "c\r\nSet-Cookie: d", "mp3", "a b - c Set-Cookie d.mp3"),
        ("a\u202eb", "c", "m4a", "a b - c.m4a"),
        ("a" * 300, "b", "mp3", "a" * 120 + ".mp3"),
        ("潮" * 300, "b", "mp3", "潮" * 66 + ".mp3"),
        ("a", "b", "../x;y", "a - b.xy"),
        ("a", "b", "", "a - b"),
    ],
)
def test_strangers_words_make_safe_names(artist, title, file_type, name):
    """No path, no control letter, no end of line."""
    assert file_name(artist, title, file_type).lstrip(". ") == name.lstrip(". ")


@pytest.mark.parametrize("wide", ["\uff02", "\uff3c", "\uff0f", "\uff05", "\uff0a", "\u2044\uff02"])
def test_wide_letters_do_not_end_the_name(wide):
    """They are plain quotes, slashes and the like once they are ASCII; the whole name keeps them."""
    title = f"x{wide}; filename={wide}evil.exe"

    told = attachment_header(file_name("a", title, "mp3"))

    plain, whole = told.removeprefix('attachment; filename="').split("\"; filename*=UTF-8''")
    assert plain == "a - x; filename=evil.exe.mp3"
    assert unquote(whole) == f"a - {title}.mp3"


def test_a_name_is_told_in_ascii_and_whole():
    """RFC 6266 and RFC 8187."""
    assert attachment_header("Møra - 潮.mp3") == (
        "attachment; filename=\"Mra - .mp3\"; filename*=UTF-8''M%C3%B8ra%20-%20%E6%BD%AE.mp3"
    )
