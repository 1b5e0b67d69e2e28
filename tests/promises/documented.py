"""Code blocks of README and docs, the commands in them, and the answers that are shown with those.

A comment after a command that begins with a brace or a bracket is its answer, as JSON in which `…` stands for
anything: a value, more members, more items, or a part of a text.
"""

import json
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MORE = "…"
# What makes JSON of an answer's text: outside of strings, `…` is a value, a member or an item.
AS_JSON = ((r":\s*…", ':"…"'), (r",\s*…\s*}", ',"…":"…"}'), (r",\s*…\s*]", ',"…"]'))
_ANSWER = re.compile(r"(?:^|\s)# ([{[].*)$")
_COMMENT = re.compile(r"(?:^|\s)#(?:\s.*)?$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `language` is empty for pictures and lists."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a block of shell; `answer`: what it prints, if that is told."""

    text: str
    answer: Any = None


def blocks() -> list[Block]:
    """All that have a language."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for block in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, block.start()) + 1
            found.append(Block(page.relative_to(ROOT).as_posix(), line, block[1], block[2]))
    return [block for block in found if block.language]


def inline(program: str) -> list[str]:
    """Commands of a program within sentences of any page but the map, each once."""
    texts = (page.read_text() for page in PAGES if page.name != "map.md")
    return sorted({command for text in texts for command in re.findall(rf"`({program} [^`]+)`", text)})


def commands(text: str) -> list[Command]:
    """Those of a block of shell, in order."""
    found: list[Command] = []
    for line in text.replace("\\\n", " ").splitlines():
        typed = _COMMENT.sub("", line).strip()
        told = _ANSWER.search(line)
        if typed:
            found.append(Command(typed))
        if told:
            found[-1] = Command(found[-1].text, answer(told[1]))
    return found


def answer(text: str) -> Any:
    """An answer as it is told."""
    for pattern, json_text in AS_JSON:
        text = re.sub(pattern, json_text, text)
    return json.loads(text)


def difference(told: Any, found: Any, place: str = "answer") -> str | None:
    """The first place where an answer is not as it is told; None when it fits."""
    if told == MORE:
        return None
    if isinstance(told, dict) and isinstance(found, dict):
        members = told.keys() - {MORE}
        if missing := members - found.keys():
            return f"{place} has no {sorted(missing)}"
        if MORE not in told and (more := found.keys() - members):
            return f"{place} has {sorted(more)} too"
        return _first(difference(told[name], found[name], f"{place}.{name}") for name in members)
    if isinstance(told, list) and isinstance(found, list):
        items = [item for item in told if item != MORE]
        if len(found) < len(items) or (items == told and len(found) > len(items)):
            return f"{place} has {len(found)} items"
        pairs = zip_longest(items, found[: len(items)])
        return _first(
            difference(one, other, f"{place}[{number}]") for number, (one, other) in enumerate(pairs)
        )
    if isinstance(told, str) and isinstance(found, str):
        pattern = ".*".join(map(re.escape, told.split(MORE)))
        return None if re.fullmatch(pattern, found, re.DOTALL) else f"{place} is {found!r}"
    return None if told == found else f"{place} is {found!r}"


def _first(differences: Any) -> str | None:
    return next((one for one in differences if one is not None), None)
