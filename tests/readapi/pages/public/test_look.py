"""A site's colour stays readable in players, light and dark."""

import itertools
import re

import pytest

from readapi.pages.assets import FOLDER
from readapi.pages.public.look import GROUNDS, HEX, Look, contrast, on_color, read_hex, readable

EVERY_51 = list(itertools.product(range(0, 256, 51), repeat=3))


@pytest.mark.parametrize("theme", GROUNDS)
def test_every_colour_can_be_read(theme):
    """As text on what it lies on, and under its sign; one that can be read is left as it is."""
    for wanted in EVERY_51:
        shown = readable(wanted, theme)
        assert contrast(shown, GROUNDS[theme]) >= 4.5
        assert contrast(on_color(shown), shown) >= 4.5
        assert readable(shown, theme) == shown


def test_the_grounds_are_those_of_the_style_sheet():
    """Of paper and tint the one that is harder to read on."""
    css = (FOLDER / "player.css").read_text()
    tints = [read_hex(digits) for digits in re.findall(r"--tint: #(\w{6})", css)]

    assert tints == [GROUNDS["light"], GROUNDS["dark"], GROUNDS["dark"]]


def test_a_theme_has_one_rule_and_auto_has_both():
    """Without a colour there is nothing to say."""
    assert Look("dark").style == ""
    assert Look("light", "00F").style == "body{--accent:#0000ff;--on-accent:#ffffff}"
    assert Look("auto", "0000ff").style.startswith(Look("light", "00f").style + "@media")


@pytest.mark.parametrize("color", ["red", "fff;}", "12345", "1234567", "#fff", "", "ｆｆｆ", "fff\n"])
def test_what_is_no_colour_is_refused(color):
    assert re.search(HEX.replace("$", r"\Z"), color) is None
