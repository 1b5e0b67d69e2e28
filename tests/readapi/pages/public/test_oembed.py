"""oEmbed documents: sizes, pictures, and strangers' text in JSON, XML and the HTML within."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from readapi.pages.public import oembed
from readapi.pages.public.oembed import Box, Embeddable
from schemas.api.oembed import OEmbed
from tests.readapi.pages.examples import ADDRESSES, BASE_URL, COVER, COVER_CID, HOSTILE, SHOWN_COVER

SHOWN = Embeddable(
    title="Slow Water",
    author="Mara Lindqvist",
    author_page=f"{BASE_URL}/u/mara.example",
    player=f"{BASE_URL}/embed/track/7",
    width=400,
    height=165,
    image_url=COVER,
    image_size=(640, 480),
)


class Frame(HTMLParser):
    """The one element of an oEmbed document's HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_document_tells_all_that_the_protocol_has_for_rich_content():
    """Nothing is missing, and the HTML is one sandboxed frame."""
    document = oembed.describe_embed(SHOWN, Box(), ADDRESSES)

    assert OEmbed.model_validate(document).model_dump() == document
    assert document == {
        "version": "1.0",
        "type": "rich",
        "provider_name": "fmsvc",
        "provider_url": BASE_URL,
        "title": "Slow Water",
        "author_name": "Mara Lindqvist",
        "author_url": "https://music.example/u/mara.example",
        "width": 400,
        "height": 165,
        "html": '<iframe src="https://music.example/embed/track/7" title="Slow Water by Mara Lindqvist" '
        'width="400" height="165" style="border:0;max-width:100%" loading="lazy" allow="autoplay" '
        'sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"></iframe>',
        "thumbnail_url": SHOWN_COVER,
        "thumbnail_width": 640,
        "thumbnail_height": 480,
        "cache_age": 3600,
    }


@pytest.mark.parametrize(
    ("box", "size"),
    [
        (Box(), (400, 165)),
        (Box(1000, 1000), (400, 165)),
        (Box(320), (320, 165)),
        (Box(None, 100), (400, 100)),
        (Box(1, 1), (1, 1)),
    ],
)
def test_the_player_is_never_larger_than_asked(box, size):
    """Nor larger than it likes to be."""
    document = oembed.describe_embed(SHOWN, box, ADDRESSES)

    assert (document["width"], document["height"]) == size
    assert f'width="{size[0]}" height="{size[1]}"' in document["html"]


@pytest.mark.parametrize(
    ("box", "changes"),
    [
        (Box(95), {}),
        (Box(None, 71), {}),
        (Box(), {"image_size": None}),
        (Box(), {"image_url": None}),
        (Box(), {"image_url": "https://elsewhere.example/cover.png"}),
    ],
)
def test_thumbnail_members_are_left_out_together(box, changes):
    """A picture that does not fit, of unknown size or at another address, is not told at all."""
    told = oembed.describe_embed(SHOWN._replace(**changes), box, ADDRESSES)

    assert not [name for name in told if name.startswith("thumbnail")]


@pytest.mark.parametrize(
    ("box", "thumbnail"),
    [
        (Box(639), ("300", 300, 225)),
        (Box(None, 225), ("300", 300, 225)),
        (Box(None, 224), ("96", 96, 72)),
        (Box(800, 600), ("800", 640, 480)),
    ],
)
def test_a_thumbnail_has_the_largest_size_that_fits(box, thumbnail):
    """Its width and height are those of the picture at its address."""
    told = oembed.describe_embed(SHOWN, box, ADDRESSES)

    side, width, height = thumbnail
    assert told["thumbnail_url"] == f"{BASE_URL}/img/{COVER_CID}/{side}.webp"
    assert (told["thumbnail_width"], told["thumbnail_height"]) == (width, height)


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_stays_text(hostile):
    """One frame with the attributes it always has, in JSON and in XML alike."""
    document = oembed.describe_embed(SHOWN._replace(title=hostile, author=hostile), Box(), ADDRESSES)

    parsed = ElementTree.fromstring(oembed.render_xml(document))
    frame = Frame(document["html"])

    assert {member.tag: member.text for member in parsed} == {
        name: str(value) for name, value in document.items()
    }
    ((element, attributes),) = frame.elements
    assert element == "iframe"
    assert list(attributes) == ["src", "title", "width", "height", "style", "loading", "allow", "sandbox"]
    assert frame.text == ""
