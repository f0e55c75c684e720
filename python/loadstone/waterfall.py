"""Waterfalls as text: when each object of a page was found, asked for and received."""

import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from loadstone import text
from loadstone.typed import Waterfall

_BARS = "\N{MIDDLE DOT}\N{LIGHT SHADE}\N{FULL BLOCK}"
_PLAIN_BARS = ".-#"
_NAME_SHARE = 0.38
_NARROW = 72
"""Below so many columns only names and times stand beside the bars."""


def render(columns: Waterfall, end_ms: float, width: int) -> str:
    """Draw one row per object, scaled so that `end_ms` is at the right edge."""
    bars = _bars()
    numbers = [["object", "kind", "bytes", "conn", "done"]]
    for name, kind, size, connection, last in zip(
        columns["name"],
        columns["kind"],
        columns["bytes"],
        columns["connection"],
        columns["last_byte_ms"],
        strict=True,
    ):
        conn = "-" if connection is None else str(connection)
        numbers.append([name, text.shorten(kind, 8), text.size(size), conn, text.ms(last)])
    if width < _NARROW:
        numbers = [[row[0], row[-1]] for row in numbers]
    rest = sum(max(map(len, column)) + 2 for column in list(zip(*numbers, strict=True))[1:])
    room = max(16, int((width - rest) * _NAME_SHARE))
    for row in numbers:
        row[0] = text.shorten(text.printable(_without_scheme(row[0])), room)
    table = text.table(numbers, left=len(numbers[0]) // 2, is_plain=True).split("\n")
    side = max(map(len, table)) + 2
    chart = max(10, width - side)
    lines = [table[0].ljust(side) + _axis(end_ms, chart)]
    sent = sent_or_promised(columns)
    marks = zip(
        # No capture knows when an object was found.
        [sent if found is None else found for found, sent in zip(columns["found_ms"], sent, strict=True)],
        sent,
        columns["first_byte_ms"],
        columns["last_byte_ms"],
        strict=True,
    )
    for line, times in zip(table[1:], marks, strict=True):
        lines.append((line.ljust(side) + _bar(list(times), end_ms, chart, bars)).rstrip())
    legend = (
        f"{bars[0]} found, waiting to be sent   {bars[1]} sent, waiting for an answer   {bars[2]} arriving"
    )
    lines += textwrap.wrap(legend, width)
    return "\n".join(lines)


def sent_or_promised(columns: Mapping[str, Any]) -> list[float | None]:
    """Say when each object was on its way.

    Of one that is pushed nothing is sent but the promise of it; one from the cache is there at once.
    """
    names = ("found_by", "found_ms", "sent_ms", "last_byte_ms", "connection")
    marks = zip(*(columns[name] for name in names), strict=True)
    return [
        found if by == "push" else last if connection is None else sent
        for by, found, sent, last, connection in marks
    ]


def _bars() -> str:
    """Choose characters that standard output can write."""
    try:
        _BARS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return _PLAIN_BARS
    return _BARS


def _without_scheme(url: str) -> str:
    return url.split("://", 1)[-1]


def _axis(end_ms: float, chart: int) -> str:
    return "0" + text.ms(end_ms).rjust(chart - 1)


def _bar(times: list[float | None], end_ms: float, chart: int, bars: str) -> str:
    """Draw the spans between consecutive marks; a span that has not ended goes on to the edge."""
    cells = [" "] * chart
    reached = [*times, None]
    for at, begin in enumerate(times[:3]):
        if begin is None:
            break
        finish = reached[at + 1]
        first = _cell(begin, end_ms, chart)
        last = chart if finish is None else _cell(finish, end_ms, chart)
        # What arrives has at least one cell, or small objects could not be seen.
        last = max(last, first + 1) if at == 2 else last
        cells[first:last] = bars[at] * (last - first)
        if finish is None:
            break
    return "".join(cells[:chart])


def _cell(ms: float, end_ms: float, chart: int) -> int:
    share = ms / end_ms if end_ms > 0 else 0.0
    return min(chart - 1, int(share * chart))
