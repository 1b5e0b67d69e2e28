"""Files that players open: extended M3U in UTF-8, XSPF, and the same as JSON (JSPF).

They list only audio that everybody may hear.

https://en.wikipedia.org/wiki/M3U#Extended_M3U, https://www.xspf.org/spec, https://www.xspf.org/jspf
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from readapi.pages.public.feed_items import Channel, Item
from readapi.pages.urls import Addresses

M3U8 = "audio/x-mpegurl; charset=utf-8"
XSPF = "application/xspf+xml; charset=utf-8"
JSPF = "application/jspf+json"

_XSPF = "http://xspf.org/ns/0/"


def render_m3u8(channel: Channel, items: Iterable[Item], _: Addresses) -> bytes:
    """Extended M3U. Titles are single lines, so none of them can begin a line of its own."""
    lines = ["#EXTM3U", f"#PLAYLIST:{channel.title}"]
    for item in items:
        if item.audio:
            lines += [f"#EXTINF:{item.seconds or -1},{item.artist} – {item.title}", item.audio]
    return "\n".join([*lines, ""]).encode()


def render_xspf(channel: Channel, items: Iterable[Item], addresses: Addresses) -> bytes:
    """XSPF version 1."""
    told = _playlist(channel, items, addresses, "xspf")
    tracks = told.pop("track")
    root = ET.Element("playlist", version="1", xmlns=_XSPF)
    _add(root, told)
    listed = ET.SubElement(root, "trackList")
    for track in tracks:
        _add(ET.SubElement(listed, "track"), track)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def render_jspf(channel: Channel, items: Iterable[Item], addresses: Addresses) -> bytes:
    """JSPF: as XSPF, with lists where an element may be repeated."""
    return orjson.dumps({"playlist": _playlist(channel, items, addresses, "jspf")})


def _playlist(channel: Channel, items: Iterable[Item], addresses: Addresses, form: str) -> dict[str, Any]:
    """In JSPF's shape, whose members have the names of XSPF's elements."""
    return _known(
        title=channel.title,
        creator=channel.author,
        annotation=channel.description,
        info=channel.page,
        location=addresses.page(f"{channel.path}.{form}"),
        image=channel.picture,
        track=[_track(item, number) for number, item in enumerate((i for i in items if i.audio), 1)],
    )


def _track(item: Item, number: int) -> dict[str, Any]:
    return _known(
        location=[item.audio],
        identifier=[item.uri],
        title=item.title,
        creator=item.artist,
        info=item.page,
        image=item.picture,
        album=item.album,
        trackNum=number,
        duration=item.seconds * 1000 if item.seconds else None,
    )


def _known(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _add(parent: ET.Element, members: Mapping[str, Any]) -> None:
    for name, value in members.items():
        ET.SubElement(parent, name).text = str(value[0] if isinstance(value, list) else value)
