"""What commands print: text for people, JSON when it is asked for, errors on stderr.

Titles and messages are other people's: control characters in them could drive the terminal, and marks of
direction could reorder a line, so neither is ever printed.
"""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from pydantic import BaseModel

    Item = BaseModel | Mapping[str, Any]

_INSTEAD = "\N{REPLACEMENT CHARACTER}"
_WIDE = 10_000  # columns: where no terminal is, no line is folded
_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Output:
    """How a command prints."""

    json: Annotated[
        bool,
        Parameter(name="--json", negative="", show_default=False, help="Print JSON; lists as one line each."),
    ] = False
    quiet: Annotated[
        bool,
        Parameter(
            name=("--quiet", "-q"),
            negative="",
            show_default=False,
            help="Print nothing but what was asked for.",
        ),
    ] = False

    def item(self, item: "Item", names: Sequence[str] = ()) -> None:
        """Print one thing: its members called `names` (`a.b`: of a member), or all; as JSON always all."""
        members = as_members(item)
        if self.json:
            print_json(members)
            return
        for name in names or members:
            if text := _text(find_member(members, name)):
                print(f"{name}: {text}")

    def rows(
        self,
        items: "Iterable[Item]",
        names: Sequence[str],
        shown: "Callable[[dict[str, Any]], Mapping[str, Any]]" = lambda members: members,
    ) -> None:
        """Print a list: a table with a column for each of `names`, or a line of JSON for each item.

        `shown`: what the table shows of an item's members, where it differs from them.
        """
        if self.json:
            for item in items:
                print_json(as_members(item))
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for name in names:
            table.add_column(name, overflow="fold")
        for item in items:
            members = shown(as_members(item))
            table.add_row(*(Text(_text(find_member(members, name))) for name in names))
        if table.row_count:
            width = None if sys.stdout.isatty() else _WIDE
            console = Console(file=sys.stdout, width=width)
            with console.capture() as printed:  # so that a closed pipe ends all commands in the same way
                console.print(table)
            print(printed.get(), end="")
        else:
            self.say("Nothing found.")

    def say(self, sentence: str) -> None:
        """Tell on stderr what was done, unless `--quiet`."""
        if not self.quiet:
            print(safe(sentence), file=sys.stderr)


PLAIN = Output()


def as_members(item: "Item") -> dict[str, Any]:
    """A model's members by the API's names, as JSON has them."""
    if isinstance(item, Mapping):
        return dict(item)
    return item.model_dump(mode="json", by_alias=True)


def find_member(members: Mapping[str, Any], name: str) -> Any:
    """A member, or with dots a member of a member; None where there is none."""
    found: Any = members
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def print_json(value: object) -> None:
    """Print a line of JSON; in ASCII, so that nothing in it drives a terminal."""
    print(json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f"))


def print_error(sentence: str) -> None:
    """Print an error."""
    print(f"fmsvc: {safe(sentence)}", file=sys.stderr)


def explain(error: OSError) -> str:
    """What a file or folder could not be used for, as a sentence."""
    what = f"{error.filename} cannot be used" if error.filename else "A file cannot be used"
    return f"{what}: {error.strerror or type(error).__name__}."


def safe(value: object) -> str:
    """A value in one line, as a terminal may show it."""
    return "".join(_INSTEAD if _is_unsafe(character) else character for character in str(value))


def _text(value: object) -> str:
    """A member's value for people: empty for none, yes or no, lists with commas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return safe(json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION
