"""Feeds of tracks: RSS 2.0 as podcast applications read it, and JSON Feed 1.1.

https://www.rssboard.org/rss-specification, https://www.rssboard.org/rss-profile, https://podcasters.apple.com/support/823-podcast-requirements,
https://podcasting2.org/docs/podcast-namespace, https://www.jsonfeed.org/version/1.1/
"""

import uuid
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
_PODCAST = "https://podcastindex.org/namespace/1.0"
_GUIDS = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")  # of feeds, as that namespace specifies them
ET.register_namespace("itunes", _ITUNES)
ET.register_namespace("podcast", _PODCAST)


def render_rss(channel: Channel, items: Iterable[Item], addresses: Addresses) -> bytes:
    """RSS 2.0 with enclosures, as podcast applications read it.

    An enclosure must have a length: 0 where it is not known, as the profile of the RSS Advisory Board says.
    """
    held = list(items)
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
    _add(about, f"{{{_ITUNES}}}explicit", _yes_or_no(any(item.is_explicit for item in held)))
    _add(about, f"{{{_PODCAST}}}guid", _feed_guid(own))
    _add(about, f"{{{_PODCAST}}}medium", "music")
    if channel.picture:
        ET.SubElement(about, f"{{{_ITUNES}}}image", href=channel.picture)
        shown = ET.SubElement(about, "image")
        for name, content in (("url", channel.picture), ("title", channel.title), ("link", channel.page)):
            _add(shown, name, content)
    for item in held:
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


def _feed_guid(address: str) -> str:
    """The identity of a feed in the namespace of podcasts: of its address without the scheme."""
    return str(uuid.uuid5(_GUIDS, address.partition("://")[2].rstrip("/")))


def _yes_or_no(claim: bool) -> str:
    return "true" if claim else "false"


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
        length = str(item.audio_bytes or 0)
        ET.SubElement(found, "enclosure", url=item.audio, type=media_type, length=length)
    _add(found, f"{{{_ITUNES}}}title", item.title)
    _add(found, f"{{{_ITUNES}}}author", item.artist)
    _add(found, f"{{{_ITUNES}}}explicit", _yes_or_no(item.is_explicit))
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
        if item.audio_bytes is not None:
            attachment["size_in_bytes"] = item.audio_bytes
        told["attachments"] = [attachment]
    return told
