"""A rendered page as an answer, with the headers that its content needs."""

from collections.abc import Mapping

from readapi.answers import HTML, Answer
from readapi.pages import policy
from readapi.pages.metadata import Metadata
from readapi.pages.render import Renderer


def page(renderer: Renderer, template: str, view: Mapping[str, object]) -> Answer[str]:
    """A page about a record. Its oEmbed links stand in a header as well, for those who send HEAD."""
    addresses, head = renderer.addresses, view["head"]
    assert isinstance(head, Metadata)
    headers = policy.page_headers(addresses.base_url)
    if head.player:
        headers["Link"] = ", ".join(
            f'<{addresses.oembed(head.address, form)}>; rel="alternate"; type="{media_type}"'
            for form, media_type in (("json", "application/json+oembed"), ("xml", "text/xml+oembed"))
        )
    return Answer(renderer.page(template, **view), HTML, headers=headers)
