"""What commands print: text for people, JSON when it is asked for, errors on stderr.

Titles and messages are other people's: control characters in them could drive the terminal, and marks of
direction could reorder a line, so neither is ever printed.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

_INSTEAD = "\N{REPLACEMENT CHARACTER}"
_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Output:
    """How a command prints."""

    json: Annotated[
        bool, Parameter(name="--json", negative="", help="Print JSON; lists as one line each.")
    ] = False
    quiet: Annotated[
        bool, Parameter(name=("--quiet", "-q"), negative="", help="Print nothing but what was asked for.")
    ] = False

    def item(self, item: dict[str, Any], names: Sequence[str]) -> None:
        """Print one thing: its members called `names`, or all of it as JSON."""
        if self.json:
            print_json(item)
            return
        for name in names:
            if (value := item.get(name)) is not None:
                print(f"{name}: {safe(value)}")

    def rows(self, items: Iterable[dict[str, Any]], names: Sequence[str]) -> None:
        """Print a list: a table with a column for each of `names`, or a line of JSON for each item."""
        if self.json:
            for item in items:
                print_json(item)
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for name in names:
            table.add_column(name, overflow="fold")
        for item in items:
            table.add_row(*(Text("" if item.get(name) is None else safe(item[name])) for name in names))
        if table.row_count:
            Console(file=sys.stdout, soft_wrap=not sys.stdout.isatty()).print(table)
        else:
            self.say("Nothing found.")

    def say(self, sentence: str) -> None:
        """Tell on stderr what was done, unless `--quiet`."""
        if not self.quiet:
            print(safe(sentence), file=sys.stderr)


def print_json(value: object) -> None:
    """Print a line of JSON; in ASCII, so that nothing in it drives a terminal."""
    print(json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f"))


def print_error(sentence: str) -> None:
    """Print an error."""
    print(f"fmsvc: {safe(sentence)}", file=sys.stderr)


def safe(value: object) -> str:
    """A value in one line, as a terminal may show it."""
    return "".join(_INSTEAD if _is_unsafe(character) else character for character in str(value))


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION
