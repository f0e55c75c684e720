"""Colours as the charts draw them: placeholders, for which the page's style sheet has the real ones.

Matplotlib writes a colour into every mark; light and dark want two. So it is given colours that nobody
would choose, and `paint` puts in their place what the style sheet defines for both.
"""

import re

from loadstone.account import PARTS

INK = "#000001"
MUTED = "#000002"
LINE = "#000003"
DOT = "#000004"
BEST = "#000005"
BAND = "#000006"
PAGE = "#000007"
FASTER = "#000008"
SLOWER = "#000009"
SERIES = tuple(f"#0003{at:02x}" for at in range(1, 7))
"""Of lines that are told apart by their strokes and marks as well."""

_NAMES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    DOT: "var(--dot)",
    BEST: "var(--best)",
    BAND: "var(--band)",
    PAGE: "var(--page)",
    FASTER: "var(--faster)",
    SLOWER: "var(--slower)",
}


def _name(part: str) -> str:
    return part.replace("_", "-")


_PARTS = {f"#0001{at:02x}": f"var(--{_name(part)})" for at, part in enumerate(PARTS)}
_HATCHES = {f"#0002{at:02x}": f"var(--on-{_name(part)})" for at, part in enumerate(PARTS)}
_SERIES = {colour: f"var(--series-{at})" for at, colour in enumerate(SERIES, 1)}
_MEANINGS = {**_NAMES, **_PARTS, **_HATCHES, **_SERIES}
_PLACEHOLDER = re.compile(r"#000[0-3][0-9a-f]{2}")


def of_part(part: str) -> str:
    """Give the placeholder for the colour of a part of an account."""
    return f"#0001{list(PARTS).index(part):02x}"


def of_hatch(part: str) -> str:
    """Give the placeholder for the lines on that colour."""
    return f"#0002{list(PARTS).index(part):02x}"


def paint(value: str) -> str:
    """Put what the style sheet defines in the place of placeholders."""
    return _PLACEHOLDER.sub(lambda found: _MEANINGS[found[0]], value)
