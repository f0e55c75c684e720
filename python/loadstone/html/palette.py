"""Colours and patterns as the plots draw them: of series and meanings, and of parts of an account.

Matplotlib writes a colour into every mark; light and dark want two. So it is given colours that no one
would choose, and `paint` puts in their place what the style sheet defines for both.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

INK = "#000001"
MUTED = "#000002"
LINE = "#000003"
PAGE = "#000007"
FASTER = "#000008"
SLOWER = "#000009"
SERIES = tuple(f"#0003{at:02x}" for at in range(1, 7))
"""Of lines that are told apart by their strokes and marks as well."""

_NAMES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    PAGE: "var(--page)",
    FASTER: "var(--faster)",
    SLOWER: "var(--slower)",
}
_SERIES = {colour: f"var(--series-{at})" for at, colour in enumerate(SERIES, 1)}
_MEANINGS = {**_NAMES, **_SERIES}
_PLACEHOLDER = re.compile(r"#000[0-3][0-9a-f]{2}")


def paint(value: str) -> str:
    """Put what the style sheet defines in the place of placeholders."""
    return _PLACEHOLDER.sub(lambda found: _MEANINGS[found[0]], value)


# --- patterns, which tell the parts of an account apart without colour ---
#
# The browser has patterns of its own, but prints each use of one as a picture: a megabyte a chart.

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Stroke = tuple[float, float, float, float]
"""From x, y to x, y."""


@dataclass(frozen=True)
class Hatch:
    """Lines of one pattern."""

    leaning: tuple[float, ...] = ()
    """Pixels a line moves to the right on its way up the box's height, over that height: 1 is 45 degrees."""
    level: bool = False
    dotted: bool = False
    gap: float = 7.0
    width: float = 1.2

    def strokes(self, box: Box) -> list[Stroke]:
        """Give the lines within the box."""
        strokes = [stroke for lean in self.leaning for stroke in _leaning(box, lean, self.gap)]
        if self.level or self.dotted:
            left, top, right, bottom = box
            rows = max(1, round((bottom - top) / self.gap))
            for row in range(rows):
                y = top + (row + 0.5) * (bottom - top) / rows
                indent = self.gap * (0.3 + 0.5 * (row % 2)) if self.dotted else 0.0
                if left + indent < right - 1:
                    strokes.append((left + indent, y, right - (1 if self.dotted else 0), y))
        return strokes


HATCHES = {
    "handshakes": Hatch(),
    "waiting_for_connection": Hatch(leaning=(1.0,)),
    "request_round_trips": Hatch(leaning=(-1.0,)),
    "transfer": Hatch(dotted=True, gap=6.0, width=2.2),
    "loss_recovery": Hatch(leaning=(1.0, -1.0), gap=9.0),
    "server": Hatch(level=True, gap=5.0),
    "page_itself": Hatch(leaning=(0.0,), gap=5.0),
}
"""The pattern of each part of an account."""


def _leaning(box: Box, lean: float, gap: float) -> Iterator[Stroke]:
    left, top, right, bottom = box
    shift = lean * (bottom - top)
    x = left + gap / 2 - abs(shift)
    while x < right + abs(shift):
        if stroke := _clipped((x, bottom, x + shift, top), left, right):
            yield stroke
        x += gap


def _clipped(stroke: Stroke, left: float, right: float) -> Stroke | None:
    """Cut off what lies outside the box."""
    x1, y1, x2, y2 = stroke
    if x1 == x2:
        return stroke if left < x1 < right else None

    def at(x: float) -> tuple[float, float]:
        x = min(max(x, left), right)
        return x, y1 + (x - x1) * (y2 - y1) / (x2 - x1)

    if max(x1, x2) <= left or min(x1, x2) >= right:
        return None
    return (*at(x1), *at(x2))
