"""Feeds of tracks: RSS 2.0 as podcast applications read it, and JSON Feed 1.1.

https://www.rssboard.org/rss-specification, https://podcasters.apple.com/support/823-podcast-requirements,
https://www.jsonfeed.org/version/1.1/
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from email.utils import format_datetime
from typing import Any

import orjson

from readapi.pages.public.feed_items import Channel, Item
from readapi.pages.urls import Addresses

RSS = "application/rss+xml; charset=utf-8"
JSON_FEED = "application/feed+json"

_ATOM = "http://www.w3.org/2005/Atom"
_ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
ET.register_namespace("atom", _ATOM)
ET.register_namespace("itunes", _ITUNES)


def render_rss(channel: Channel, items: Iterable[Item], addresses: Addresses) -> bytes:
    """RSS 2.0 with enclosures. Their length is left out: records do not state it."""
    root = ET.Element("rss", version="2.0")
    about = ET.SubElement(root, "channel")
    _add(about, "title", channel.title)
    _add(about, "link", channel.page)
    _add(about, "description", channel.description)
    own = addresses.page(f"{channel.path}.xml")
    ET.SubElement(about, f"{{{_ATOM}}}link", href=own, rel="self", type="application/rss+xml")
    if channel.language:
        _add(about, "language", channel.language)
    _add(about, f"{{{_ITUNES}}}author", channel.author)
    ET.SubElement(about, f"{{{_ITUNES}}}category", text="Music")
    _add(about, f"{{{_ITUNES}}}explicit", "false")
    if channel.picture:
        ET.SubElement(about, f"{{{_ITUNES}}}image", href=channel.picture)
    for item in items:
        _add_item(about, item)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def render_json_feed(channel: Channel, items: Iterable[Item], addresses: Addresses) -> bytes:
    """JSON Feed 1.1; audio is an attachment."""
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": channel.title,
            "home_page_url": channel.page,
            "feed_url": addresses.page(f"{channel.path}.json"),
            "description": channel.description,
            "authors": [{"name": channel.author}],
            **({"language": channel.language} if channel.language else {}),
            **({"icon": channel.picture} if channel.picture else {}),
            "items": [_as_json(item) for item in items],
        }
    )


def _add(parent: ET.Element, name: str, content: str, **attributes: str) -> None:
    ET.SubElement(parent, name, attributes).text = content


def _add_item(parent: ET.Element, item: Item) -> None:
    found = ET.SubElement(parent, "item")
    _add(found, "title", f"{item.artist} – {item.title}")
    _add(found, "link", item.page)
    _add(found, "guid", item.uri, isPermaLink="false")
    _add(found, "pubDate", format_datetime(item.published))
    _add(found, "description", item.description)
    for tag in item.tags:
        _add(found, "category", tag)
    if item.audio:
        media_type = item.media_type or "application/octet-stream"
        ET.SubElement(found, "enclosure", url=item.audio, type=media_type)
    _add(found, f"{{{_ITUNES}}}author", item.artist)
    _add(found, f"{{{_ITUNES}}}explicit", "true" if item.is_explicit else "false")
    if item.seconds:
        _add(found, f"{{{_ITUNES}}}duration", str(item.seconds))
    if item.picture:
        ET.SubElement(found, f"{{{_ITUNES}}}image", href=item.picture)


def _as_json(item: Item) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": item.uri,
        "url": item.page,
        "title": item.title,
        "content_text": item.description,
        "date_published": item.published.isoformat(),
        "authors": [{"name": item.artist, "url": item.artist_page}],
        "tags": item.tags,
    }
    if item.picture:
        told["image"] = item.picture
    if item.audio:
        attachment: dict[str, Any] = {
            "url": item.audio,
            "mime_type": item.media_type or "application/octet-stream",
        }
        if item.seconds:
            attachment["duration_in_seconds"] = item.seconds
        told["attachments"] = [attachment]
    return told
