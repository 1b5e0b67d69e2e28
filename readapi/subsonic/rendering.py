"""Answers of OpenSubsonic: plain values -> XML or JSON. Pure.

https://opensubsonic.netlify.app/docs/responses/subsonic-response
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, Literal

import orjson

from readapi.answers import XML, Answer
from readapi.pages.text import drop_unprintable

Form = Literal["xml", "json"]
Content = Mapping[str, Any]

PROTOCOL: Final = "1.16.1"
_NAMESPACE = "http://subsonic.org/restapi"
_TEXT = "value"  # the member that JSON has for an element's text


class Element(str):
    """A text that XML has as an element of its own. Other texts are attributes."""

    __slots__ = ()


def render_answer(form: Form, content: Content, status: Literal["ok", "failed"] = "ok") -> Answer[Any]:
    """An answer with its envelope. Members that are None are left out.

    Of `content`, mappings become elements and lists repeated elements.
    """
    whole = {
        "status": status,
        "version": PROTOCOL,
        "type": "fmsvc",
        "serverVersion": version("fmsvc-server"),
        "openSubsonic": True,
        **content,
    }
    if form == "json":
        return Answer(orjson.dumps({"subsonic-response": _without_none(whole)}))
    root = _element("subsonic-response", whole)
    root.set("xmlns", _NAMESPACE)
    return Answer(ET.tostring(root, encoding="utf-8", xml_declaration=True), XML)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_none(member) for name, member in value.items() if member is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def _element(name: str, value: Any) -> ET.Element:
    made = ET.Element(name)
    if not isinstance(value, Mapping):
        made.text = _text(value)
        return made
    for member, content in value.items():
        if content is None:
            continue
        if isinstance(content, list):
            made.extend(_element(member, one) for one in content)
        elif isinstance(content, Mapping | Element):
            made.append(_element(member, content))
        elif member == _TEXT:
            made.text = _text(content)
        else:
            made.set(member, _text(content))
    return made


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return drop_unprintable(str(value))
