"""Text for people: tables, numbers, names cut to fit."""

import io
import os
import shutil
import sys
from collections.abc import Sequence

PIPED_WIDTH = 100
"""Columns where no terminal says how many it has."""

_NARROWEST = 40
_ENDLESS = 100_000


def width() -> int:
    """Say how many columns standard output has."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return PIPED_WIDTH
    return max(_NARROWEST, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns)


def table(rows: Sequence[Sequence[str]], left: int = 1, *, is_plain: bool = False) -> str:
    """Align the columns: the first `left` to the left, the others to the right. Row 0 is the head.

    A terminal shows the head in bold, unless it cannot or NO_COLOR is set, and long cells are broken to fit
    it; a table that `is_plain` has neither.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    has_styles = _has_styles() and not is_plain
    head, *body = rows
    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold" if has_styles else "")
    for at, name in enumerate(head):
        made.add_column(Text(name), justify="left" if at < left else "right", overflow="fold")
    for row in body:
        made.add_row(*map(Text, row))
    room = width() if sys.stdout.isatty() and not is_plain else _ENDLESS
    drawn = Console(
        file=io.StringIO(),
        width=room,
        force_terminal=has_styles,
        color_system="standard" if has_styles else None,
    )
    with drawn.capture() as shown:
        drawn.print(made)
    return "\n".join(line.rstrip() for line in shown.get().rstrip("\n").split("\n"))


def _has_styles() -> bool:
    """Say whether standard output shows styles (https://no-color.org)."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_plain


def size(count: int) -> str:
    """Write a number of bytes, decimal as in the network's notation."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1e3:.1f} KB"
    return f"{count / 1e6:.2f} MB" if count < 1_000_000_000 else f"{count / 1e9:.2f} GB"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Write a number of things: `1 run`, `21 runs`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def ms(value: float | None) -> str:
    """Write milliseconds."""
    return "-" if value is None else f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def shorten(text: str, room: int) -> str:
    """Cut the middle out of a text that is longer than `room`; beginnings and endings tell most."""
    if len(text) <= room:
        return text
    tail = (room - 3) // 2
    return text[: room - 3 - tail] + "..." + text[len(text) - tail :]


def harmless(text: str) -> str:
    """Replace what a terminal would obey instead of show."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def harmless_lines(text: str) -> str:
    """Do the same in each line of a text."""
    return "\n".join(map(harmless, text.split("\n")))


def printable(text: str) -> str:
    """Replace also what standard output cannot encode."""
    encoding = sys.stdout.encoding or "utf-8"
    return harmless(text).encode(encoding, "replace").decode(encoding)
